import { type ApiResponse, jsonOf, statusErrorOf } from '@holdfast/client';
import { type PlacementReport, placementPath, placementRows } from '@holdfast/client/why';
import { harmless } from '@holdfast/platform/harmless';
import { inLines } from './table.ts';

/** What the scheduler found on each node for a pod, or why nobody tells it. */
export async function askPlacement(
  ask: (path: string) => Promise<ApiResponse>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<PlacementReport | string> {
  const response = await ask(placementPath(namespace, name));
  if (response.status === 404) return whyUntold(statusErrorOf(response).message, name);
  if (response.status >= 400) throw statusErrorOf(response);
  return jsonOf(response) as PlacementReport;
}

/** An API server without a scheduler in its process knows no such path. */
const whyUntold = (refusal: string, name: string): string =>
  refusal.startsWith(`pod "${name}"`)
    ? refusal
    : 'this API server does not tell what the scheduler found on each node; the page of the pod in the console may';

export const placementLines = (report: PlacementReport): readonly string[] =>
  inLines([
    ['  NODE', 'PLUGIN', 'REASON'],
    ...placementRows(report).map(({ who, plugin, reasons }) => [`  ${who}`, plugin, harmless(reasons)]),
  ]);
