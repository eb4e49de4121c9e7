/** Every authenticated user may ask here; what is answered depends on their rights to the resources. */
export const HISTORY_PATH = '/holdfast.io/history/v1';

export const isHistoryPath = (path: string): boolean => path === HISTORY_PATH || path.startsWith(`${HISTORY_PATH}/`);
