import type { ApiRequest } from '@holdfast/client';

/** Every authenticated user may ask here; what is answered depends on their rights to the resources. */
export const HISTORY_PATH = '/holdfast.io/history/v1';

export const isHistoryPath = (path: string): boolean => path === HISTORY_PATH || path.startsWith(`${HISTORY_PATH}/`);

/** `/objects/api/v1/pods`: what is wanted, and the path of the API behind it with its slash; '' when there is none. */
export function historyPartsOf(path: string): { readonly what: string; readonly place: string } {
  const [, what = '', place = ''] = PARTS.exec(path.slice(HISTORY_PATH.length)) ?? [];
  return { what, place };
}

/** Parameters that a list of the present has, too. */
const SELECTING = ['labelSelector', 'fieldSelector', 'limit', 'continue'] as const;

export function selectingQuery({ query }: Pick<ApiRequest, 'query'>): URLSearchParams {
  const own = new URLSearchParams();
  for (const name of SELECTING) {
    const value = query.get(name);
    if (value !== null) own.set(name, value);
  }
  return own;
}

const PARTS = /^\/?([a-z]*)((?:\/[^/]+)*)\/?$/;
