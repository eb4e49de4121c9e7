import {
  type Node,
  type PersistentVolume,
  type PersistentVolumeAttachment,
  type Pod,
  volumeInUse,
} from '@holdfast/api';
import { type CommitRule, ended } from './commit-rules.ts';
import type { Living, LivingPod } from './living.ts';

const uidsOf = (attachment: PersistentVolumeAttachment | undefined): readonly string[] =>
  (attachment?.pods ?? []).map(({ uid }) => uid);

/** What the API says of the users of volumes, against what the store and the machines have. */
export const volumeRules = (living: Living): Readonly<Record<string, CommitRule>> => ({
  'a volume drops only pods that are gone': ({ resource, before, after, by, objects }) => {
    if (resource !== 'persistentvolumes' || after === undefined) return undefined;
    const [was, is] = [before, after].map((object) => (object as PersistentVolume | undefined)?.status.attachment);
    const dropped = uidsOf(was).filter((uid) => !uidsOf(is).includes(uid));
    const alive = [...objects.values()].find(
      ({ kind, metadata, ...pod }) => kind === 'Pod' && dropped.includes(metadata.uid ?? '') && !ended(pod as Pod),
    );
    return alive === undefined
      ? undefined
      : `${by} dropped ${alive.metadata.name} (${alive.metadata.uid}), which is stored`;
  },
  'a node says which volumes its processes use': ({ resource, name, before, after, by }) => {
    if (resource !== 'nodes' || before === undefined || after === undefined) return undefined;
    const was = (before as Node).status.volumesInUse ?? [];
    const is = (after as Node).status.volumesInUse ?? [];
    const hidden = usesOn(living, name).find(({ entry }) => was.includes(entry) && !is.includes(entry));
    return hidden === undefined ? undefined : `${by} took back ${hidden.entry} while ${hidden.pod.name} runs there`;
  },
});

interface Use {
  readonly pod: LivingPod;
  readonly entry: string;
}

/** The volumes that the processes of a node write to, as the node has to report them. */
function usesOn(living: Living, node: string): readonly Use[] {
  return living
    .all()
    .filter((pod) => pod.node === node)
    .flatMap((pod) => {
      const disk = living.diskOf(pod.name);
      return disk === undefined ? [] : [{ pod, entry: volumeInUse(disk, pod.uid) }];
    });
}
