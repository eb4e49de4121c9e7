import {
  dnsLabelErrors,
  isMirrorPod,
  isUnique,
  NAMESPACES,
  type Namespace,
  type Pod,
  SELF_FENCING,
  usesClaim,
} from '@holdfast/api';
import { GENERATED_BASE_CHARS_MAX } from '../../limits.ts';
import { type AdmissionDeps, type AdmissionPlugin, isCore } from '../port.ts';
import { asPod } from '../typed-objects.ts';

/**
 * Which pods the promise of a node covers: what their namespace says goes into new pods, and an exclusive pod gets its
 * name as its host name. Nodes and control plane know exclusive pods by that, also those of an earlier version.
 */
export const createPodSelfFencing = ({ reader }: AdmissionDeps): AdmissionPlugin => ({
  name: 'PodSelfFencing',
  handles: (request) =>
    isCore(request, 'pods') &&
    request.operation === 'CREATE' &&
    request.subresource === '' &&
    request.object !== undefined &&
    !isMirrorPod(request.object),
  admit: ({ object, namespace: name, warn }) => {
    if (object === undefined) return;
    const pod = asPod(object);
    const known = reader.cached(NAMESPACES, { name });
    if (known !== undefined) return takeDefault(known, pod, warn);
    return reader.fresh(NAMESPACES, { name }).then((found) => takeDefault(found, pod, warn));
  },
  settle: ({ object }) => {
    if (object !== undefined) nameHost(asPod(object));
  },
});

function takeDefault(namespace: Namespace | undefined, pod: Pod, warn: (text: string) => void): void {
  const wanted = namespace?.metadata.annotations?.[SELF_FENCING];
  if (wanted === undefined || pod.metadata.annotations?.[SELF_FENCING] !== undefined) return;
  if (wanted === 'off' && isUnique(pod) && !usesClaim(pod)) say(pod, 'off');
  if (wanted !== 'all' || isUnique(pod)) return;
  if (canBeNamed(pod)) say(pod, 'exclusive');
  else warn(`the namespace asks for exclusive pods (${SELF_FENCING}: all), but ${NO_HOST_NAME}`);
}

function say(pod: Pod, policy: string): void {
  (pod.metadata.annotations ??= {})[SELF_FENCING] = policy;
}

const NO_HOST_NAME =
  'this pod has a spec.hostname that is not its name, or a name that is no DNS label of 63 characters';

const isHostName = (name: string): boolean => dnsLabelErrors(name).length === 0;

/** A name that is generated later ends with characters that a host name may have. */
function canBeNamed({ metadata, spec }: Pod): boolean {
  if ((spec.hostname ?? '') !== '') return false;
  const { name = '', generateName = '' } = metadata;
  return isHostName(name === '' ? `${generateName.slice(0, GENERATED_BASE_CHARS_MAX)}x` : name);
}

/** A name that cannot be a host name is refused by the validation of the annotation. */
function nameHost({ metadata, spec }: Pod): void {
  const { name = '' } = metadata;
  if (metadata.annotations?.[SELF_FENCING] !== 'exclusive' || (spec.hostname ?? '') !== '') return;
  if (isHostName(name)) spec.hostname = name;
}
