import { HOLLOW_SCRIPT, type Pod } from '@holdfast/api';
import { hasPairs, ownValue } from '@holdfast/machinery';
import type { PodScript } from './options.ts';

/** The script of a container on a hollow node. Init containers and sidecars follow their commands. */
export function podScript(
  scripts: readonly PodScript[],
  { metadata, spec }: Pod,
  container: string,
): string | undefined {
  if (!spec.containers.some(({ name }) => name === container)) return undefined;
  const fits = ({ namespace, labels }: PodScript): boolean =>
    (namespace === undefined || namespace === metadata.namespace) && hasPairs(metadata.labels, labels ?? {});
  return ownValue(metadata.annotations, HOLLOW_SCRIPT) ?? scripts.find(fits)?.script;
}
