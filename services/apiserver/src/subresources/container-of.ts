import type { Pod } from '@holdfast/api';
import { badRequest } from '@holdfast/machinery';

/** Returns the requested container, with errors in the words that clients know. */
export function containerOf({ metadata, spec }: Pod, wanted: string): string {
  const name = metadata.name ?? '';
  const containers = (spec?.containers ?? []).map((each) => each.name);
  const initContainers = (spec?.initContainers ?? []).map((each) => each.name);
  const ephemeral = (spec?.ephemeralContainers ?? []).map((each) => each.name);
  if (wanted !== '') {
    if ([...containers, ...initContainers, ...ephemeral].includes(wanted)) return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [only, ...more] = containers;
  if (only !== undefined && more.length === 0) return only;
  const orInit = initContainers.length === 0 ? '' : ` or one of the init containers: [${initContainers.join(' ')}]`;
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${containers.join(' ')}]${orInit}`,
  );
}
