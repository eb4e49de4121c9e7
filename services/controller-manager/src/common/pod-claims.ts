import type { Pod, Volume } from '@holdfast/api';
import { nameOf, namespaceOf } from './meta.ts';

/** The claim that a pod's own volume is made with. */
export const ephemeralClaimName = (pod: Pod, volume: Volume): string => `${nameOf(pod)}-${volume.name}`;

/** The claims of a pod, by key. */
export const claimKeysOf = (pod: Pod): readonly string[] =>
  (pod.spec?.volumes ?? []).flatMap((volume) => {
    const name =
      volume.ephemeral === undefined ? volume.persistentVolumeClaim?.claimName : ephemeralClaimName(pod, volume);
    return name === undefined ? [] : [`${namespaceOf(pod)}/${name}`];
  });
