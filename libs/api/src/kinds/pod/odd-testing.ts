import type { JsonObject } from '@holdfast/machinery';
import { compareTexts, refusals } from '../testing.ts';

export type Case = readonly [spec: JsonObject, errors: readonly string[], metadata?: JsonObject];

export const container = (more: JsonObject = {}): JsonObject => ({ name: 'c', image: 'i', ...more });
export const withContainer = (more: JsonObject): JsonObject => ({ containers: [container(more)] });
export const withVolume = (source: JsonObject, more: JsonObject = {}): JsonObject => ({
  containers: [container()],
  volumes: [{ name: 'v', ...source, ...more }],
});

/** Checks the refusal causes of each pod. */
export function check(cases: readonly Case[]): void {
  for (const [spec, errors, metadata = {}] of cases) {
    const document = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'n', ...metadata },
      spec: { containers: [container()], ...spec },
    };
    compareTexts(refusals(document), errors, JSON.stringify(document));
  }
}
