/** Every authenticated user may ask here; what is answered depends on their rights to the resources. */
export const HISTORY_PATH = '/holdfast.io/history/v1';

export const isHistoryPath = (path: string): boolean => path === HISTORY_PATH || path.startsWith(`${HISTORY_PATH}/`);

/** `/objects/api/v1/pods`: what is wanted, and the path of the API behind it with its slash; '' when there is none. */
export function historyPartsOf(path: string): { readonly what: string; readonly place: string } {
  const [, what = '', place = ''] = PARTS.exec(path.slice(HISTORY_PATH.length)) ?? [];
  return { what, place };
}

const PARTS = /^\/?([a-z]*)((?:\/[^/]+)*)\/?$/;
