import {
  type Event,
  isPodFinished,
  isTerminating,
  NO_PROVISIONER,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PODS,
  type Pod,
  STORAGE_CLASSES,
  type StorageClass,
  selectedNodeOf,
  storageClassOf,
} from '@holdfast/api/facts';
import { type Finding, namesOf, ownersRemove, quoted } from './finding.ts';
import { type Known, known, type Reader } from './reader.ts';

export interface ClaimFacts {
  readonly claim: PersistentVolumeClaim;
  /** `absent` when the claim names none, too. */
  readonly storageClass: Known<StorageClass>;
  readonly volume: Known<PersistentVolume>;
  /** The pods of its namespace that use it and have not finished. */
  readonly users: readonly Pod[];
  readonly events: readonly Event[];
}

export async function observeClaim(claim: PersistentVolumeClaim, reader: Reader): Promise<ClaimFacts> {
  const { namespace = '', name = '' } = claim.metadata;
  const [className, volumeName] = [storageClassOf(claim), claim.spec.volumeName ?? ''];
  const [storageClass, volume, pods, events] = await Promise.all([
    className === '' ? ('absent' as const) : reader.find(STORAGE_CLASSES, { name: className }),
    volumeName === '' ? ('absent' as const) : reader.find(PERSISTENT_VOLUMES, { name: volumeName }),
    reader.list(PODS, namespace),
    reader.events(claim),
  ]);
  return { claim, storageClass, volume, events, users: pods.filter((pod) => !isPodFinished(pod) && uses(pod, name)) };
}

const uses = ({ metadata, spec }: Pod, claim: string): boolean =>
  (spec.volumes ?? []).some(({ name, persistentVolumeClaim, ephemeral }) =>
    ephemeral === undefined ? persistentVolumeClaim?.claimName === claim : `${metadata.name}-${name}` === claim,
  );

export function explainClaim(facts: ClaimFacts): Finding {
  const { claim } = facts;
  const since = claim.metadata.creationTimestamp ?? undefined;
  if (isTerminating(claim)) return ending(facts);
  if (claim.status.phase === 'Bound') return { rests: `it is bound to volume ${claim.spec.volumeName}` };
  if (claim.status.phase === 'Lost') {
    const waitsFor = `its volume ${claim.spec.volumeName} is gone or belongs to another claim, so its data are not reachable`;
    return { waitsFor, endsWhen: 'somebody restores the volume; otherwise delete the claim', since };
  }
  return { since, ...((claim.spec.volumeName ?? '') === '' ? unbound(facts) : named(facts)) };
}

function ending({ claim, users }: ClaimFacts): Finding {
  const { finalizers = [], deletionTimestamp } = claim.metadata;
  const since = deletionTimestamp ?? undefined;
  if (users.length > 0) {
    const names = namesOf(users.map(({ metadata }) => metadata.name ?? ''));
    return { waitsFor: `it is to be deleted, but pods use it: ${names}`, endsWhen: 'these pods have ended', since };
  }
  const list = finalizers.join(', ');
  return { waitsFor: `it is to be deleted, and its finalizers hold it: ${list}`, endsWhen: ownersRemove(list), since };
}

function named({ claim, volume }: ClaimFacts) {
  const name = claim.spec.volumeName ?? '';
  const ref = known(volume)?.spec.claimRef;
  if (volume === 'absent')
    return { waitsFor: `it asks for volume ${name}, which does not exist`, endsWhen: `volume ${name} is made` };
  if (ref !== undefined && (ref.namespace !== claim.metadata.namespace || ref.name !== claim.metadata.name)) {
    const waitsFor = `it asks for volume ${name}, which belongs to claim ${ref.namespace}/${ref.name}`;
    return { waitsFor, endsWhen: 'that volume is released and made available again' };
  }
  return {
    waitsFor: `it is not bound to volume ${name} yet`,
    endsWhen: 'the volume and the claim fit (size, access modes, class) and are bound',
  };
}

function unbound(facts: ClaimFacts) {
  const { claim, storageClass } = facts;
  const className = storageClassOf(claim);
  if (className === '') {
    const waitsFor = 'it has no storage class, and no available volume without a class fits its size and access modes';
    return { waitsFor, endsWhen: 'such a volume is made, or a claim with a storage class replaces it' };
  }
  if (storageClass === 'absent') {
    const waitsFor = `its storage class ${className} does not exist, and no available volume of that class fits`;
    return { waitsFor, endsWhen: `the storage class ${className} or such a volume is made` };
  }
  const waits =
    known(storageClass)?.volumeBindingMode === 'WaitForFirstConsumer' && selectedNodeOf(claim) === undefined;
  return waits ? firstConsumer(facts, className) : unprovisioned(facts, className);
}

function firstConsumer({ users }: ClaimFacts, className: string) {
  const [user] = users;
  if (user === undefined) {
    const waitsFor = `its storage class ${className} binds at the first consumer (WaitForFirstConsumer), and no pod uses it`;
    return { waitsFor, endsWhen: 'a pod that uses it is scheduled' };
  }
  const { name } = user.metadata;
  const waitsFor = `its storage class ${className} binds at the first consumer (WaitForFirstConsumer), and pod ${name} has no node yet`;
  return { waitsFor, endsWhen: `pod ${name} is scheduled (ask \`why pod/${name}\`)` };
}

function unprovisioned({ claim, storageClass, events }: ClaimFacts, className: string) {
  const { provisioner = 'of its class' } = known(storageClass) ?? {};
  if (provisioner === NO_PROVISIONER) {
    const waitsFor = `no available volume of its storage class ${className} fits, and that class provisions none`;
    return { waitsFor, endsWhen: 'a volume of that class, size and access mode is made or released' };
  }
  const warning = events.find(({ type }) => type === 'Warning')?.message;
  const node = selectedNodeOf(claim);
  const where = node === undefined ? '' : ` on node ${node}`;
  const said = warning === undefined ? '' : `; the last failure: ${quoted(warning)}`;
  const waitsFor = `the provisioner ${provisioner} has not made its volume${where}${said}`;
  return { waitsFor, endsWhen: 'the provisioner runs and makes the volume, or somebody makes one that fits' };
}
