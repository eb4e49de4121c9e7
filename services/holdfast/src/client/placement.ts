import { type ApiResponse, jsonOf, statusErrorOf } from '@holdfast/client';
import { type PlacementReport, placementPath, placementRows } from '@holdfast/client/why';
import { harmless } from '@holdfast/platform/harmless';
import { inLines } from './table.ts';

/** What the scheduler found on each node for a pod; `undefined` where nobody tells it, or the pod does not wait. */
export async function askPlacement(
  ask: (path: string) => Promise<ApiResponse>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<PlacementReport | undefined> {
  const response = await ask(placementPath(namespace, name));
  if (response.status === 404) return undefined;
  if (response.status >= 400) throw statusErrorOf(response);
  return jsonOf(response) as PlacementReport;
}

export const placementLines = (report: PlacementReport): readonly string[] =>
  inLines([
    ['  NODE', 'PLUGIN', 'REASON'],
    ...placementRows(report).map(({ who, plugin, reasons }) => [`  ${who}`, plugin, harmless(reasons)]),
  ]);
