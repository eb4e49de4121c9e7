import { type PlacementReport, placementPath } from '@holdfast/client/why';
import { type Api, ApiFailure } from './api.ts';
import type { ApiObject } from './object.ts';

/** True for a pod that the scheduler still has to place. */
export function waitsForNode({ kind, metadata, spec }: ApiObject): boolean {
  return kind === 'Pod' && (metadata.deletionTimestamp ?? '') === '' && (spec?.['nodeName'] ?? '') === '';
}

/** The scheduler's reasons, node by node; `undefined` where nobody tells them. */
export async function readPlacement(api: Api, { metadata }: ApiObject): Promise<PlacementReport | undefined> {
  try {
    return await api.json<PlacementReport>(placementPath(metadata.namespace ?? '', metadata.name));
  } catch (error) {
    // Not refused yet, placed meanwhile, or a server that is not connected to a scheduler.
    if (error instanceof ApiFailure && error.code === 404) return undefined;
    throw error;
  }
}
