import { type FieldError, forbidden, invalid, ownValue, semanticEqual } from '@holdfast/machinery';
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSpec,
  VolumeNodeAffinity,
} from '../../generated/types.ts';
import {
  ARCH_LABEL,
  INSTANCE_TYPE_LABEL,
  MOUNT_OPTIONS_ANNOTATION,
  OLD_ARCH_LABEL,
  OLD_INSTANCE_TYPE_LABEL,
  OLD_OS_LABEL,
  OLD_REGION_LABEL,
  OLD_ZONE_LABEL,
  OS_LABEL,
  REGION_LABEL,
  ZONE_LABEL,
} from '../../semantics/well-known.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goDiff } from '../../validation/go/diff.ts';
import { goValue } from '../../validation/go/print.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateObjectMeta } from '../../validation/object-meta.ts';
import { checkedInSteps, checkedUpdate } from '../checked.ts';
import { validateFencingToken } from './fencing-token.ts';
import { sourcesOf } from './sources.ts';
import { validateVolumeSpec } from './spec.ts';
import { isOnStorageServer, validateSingleNode } from './storage-server.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

/** An update is checked as a new volume twice, then against the immutable fields. */
export const volumeChecks = checkedInSteps<PersistentVolume>(META, {
  whole: (out, volume, old) => {
    validateVolumeSpec(out, volume.spec, placeOf(volume));
    validateSingleNode(out, 'spec.accessModes', volume);
    validateMountOptions(out, volume);
    if (old === undefined) return;
    validateObjectMeta(out, volume.metadata, META);
    validateVolumeSpec(out, volume.spec, placeOf(volume));
    validateChange(out, volume.spec, old.spec);
  },
  onUpdate: ['whole'],
});

const placeOf = ({ metadata }: Readonly<PersistentVolume>) => ({
  path: 'spec',
  name: metadata.name ?? '',
  isInline: false,
});

const WITH_MOUNT_OPTIONS = [
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'nfs',
  'rbd',
  'quobyte',
  'iscsi',
  'cinder',
  'cephfs',
  'azureFile',
  'vsphereVolume',
  'azureDisk',
  'photonPersistentDisk',
] as const;

/** The old annotation is valid only for sources that support mount options. */
function validateMountOptions(out: FieldError[], { metadata, spec }: Readonly<PersistentVolume>): void {
  if (metadata.annotations?.[MOUNT_OPTIONS_ANNOTATION] === undefined) return;
  if (WITH_MOUNT_OPTIONS.some((key) => spec[key] !== undefined)) return;
  out.push(
    forbidden(`metadata.annotations.${MOUNT_OPTIONS_ANNOTATION}`, 'may not specify mount options for this volume type'),
  );
}

export const validateVolumeStatusUpdate = checkedUpdate<PersistentVolume>((out, volume, old) =>
  validateFencingToken(out, volume, { old, mustGrow: isOnStorageServer(volume) }),
);

/** The source of a volume is immutable, except for the secret for expansion, which may be added. */
function validateChange(
  out: FieldError[],
  spec: Readonly<PersistentVolumeSpec>,
  old: Readonly<PersistentVolumeSpec>,
): void {
  let sources: PersistentVolumeSpec = spec;
  if (old.csi !== undefined && old.csi.controllerExpandSecretRef === undefined && spec.csi !== undefined) {
    const { controllerExpandSecretRef: _learned, ...csi } = spec.csi;
    sources = { ...spec, csi };
  }
  if (!semanticEqual(sourcesOf(sources), sourcesOf(old))) {
    const diff = goDiff('core.PersistentVolumeSource', sourcesOf(old), sourcesOf(sources));
    const text = 'spec.persistentvolumesource is immutable after creation';
    out.push(forbidden('spec.persistentvolumesource', `${text}\n${diff}`));
  }
  if (spec.volumeMode !== old.volumeMode) out.push(invalid('volumeMode', spec.volumeMode, IMMUTABLE_TEXT));
  if (old.nodeAffinity !== undefined && !isSameAffinity(spec.nodeAffinity, old.nodeAffinity)) {
    const detail = `${IMMUTABLE_TEXT}, except for updating from beta label to GA`;
    const { nodeAffinity } = spec;
    const shown = nodeAffinity === undefined ? nodeAffinity : goValue('core.VolumeNodeAffinity', nodeAffinity);
    out.push(invalid('nodeAffinity', shown, detail));
  }
}

/** Node labels that got a stable name: a volume may switch to it. */
const STABLE_NAMES: Readonly<Record<string, string>> = {
  [OLD_ZONE_LABEL]: ZONE_LABEL,
  [OLD_REGION_LABEL]: REGION_LABEL,
  [OLD_OS_LABEL]: OS_LABEL,
  [OLD_ARCH_LABEL]: ARCH_LABEL,
  [OLD_INSTANCE_TYPE_LABEL]: INSTANCE_TYPE_LABEL,
};

function isSameAffinity(affinity: VolumeNodeAffinity | undefined, old: VolumeNodeAffinity): boolean {
  if (semanticEqual(affinity, old)) return true;
  const terms = affinity?.required?.nodeSelectorTerms ?? [];
  const before = old.required?.nodeSelectorTerms ?? [];
  return (
    affinity !== undefined && terms.length === before.length && before.every((term, i) => follows(terms[i] ?? {}, term))
  );
}

const follows = (term: Readonly<NodeSelectorTerm>, old: Readonly<NodeSelectorTerm>): boolean =>
  (['matchExpressions', 'matchFields'] as const).every((key) => {
    const now = term[key] ?? [];
    const before = old[key] ?? [];
    return now.length === before.length && before.every((each, i) => isSameOrStable(now[i], each));
  });

function isSameOrStable(now: NodeSelectorRequirement | undefined, old: NodeSelectorRequirement): boolean {
  const stable = ownValue(STABLE_NAMES, old.key);
  return semanticEqual(now, now !== undefined && now.key === stable ? { ...old, key: now.key } : old);
}
