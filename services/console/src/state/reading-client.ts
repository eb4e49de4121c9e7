import type { ReadingClient } from '@holdfast/client/why';
import { type Api, ApiFailure } from './api.ts';
import { pastPath } from './history.ts';
import { pathOf } from './routes.ts';

/** What the API answers to a list. */
interface Page<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[];
}

/** Lists of more are cut: no sentence needs them, and a page has to stay fast. */
const ITEMS_MAX = 2_000;

/** The API as the shared readers ask it, now or at a moment of the kept history. */
export const readingClientOf = (api: Api, at = ''): ReadingClient => ({
  find: async (resource, { namespace = '', name }) => {
    try {
      return await api.json(...placeOf(pathOf(resource, namespace, name), at));
    } catch (error) {
      if (error instanceof ApiFailure && error.code === 404) return undefined;
      throw error;
    }
  },
  list: async <T>(
    resource: Parameters<ReadingClient['list']>[0],
    { namespace = '', fieldSelector = '', labelSelector = '' }: Parameters<ReadingClient['list']>[1] = {},
  ) => {
    const selection = { fieldSelector, labelSelector, limit: String(ITEMS_MAX) };
    const query = Object.fromEntries(Object.entries(selection).filter(([, value]) => value !== ''));
    const { metadata, items = [] } = await api.json<Page<T>>(...placeOf(pathOf(resource, namespace), at, query));
    // Items of a list do not say what they are.
    const { kind, group, version } = resource;
    const form = { apiVersion: group === '' ? version : `${group}/${version}`, kind };
    return {
      resourceVersion: metadata?.resourceVersion ?? '',
      continueToken: metadata?.continue,
      items: items.map((item) => ({ ...form, ...item })),
    };
  },
});

/** Where something is, now or in the past. */
const placeOf = (
  path: string,
  at: string,
  query: Readonly<Record<string, string>> = {},
): [string, { readonly query: Readonly<Record<string, string>> }] =>
  at === '' ? [path, { query }] : [pastPath(path), { query: { ...query, time: at } }];
