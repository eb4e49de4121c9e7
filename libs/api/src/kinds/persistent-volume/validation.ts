import {
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  ownValue,
  required,
  semanticEqual,
} from '@holdfast/machinery';
import type {
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PersistentVolume,
  PersistentVolumeSpec,
  SecretReference,
  VolumeNodeAffinity,
} from '../../generated/types.ts';
import { validateDnsLabel, validateDnsSubdomain, validateRequiredText, validateWord } from '../../validation/check.ts';
import { VOLUME_MODES, validateAccessModes } from '../../validation/claims.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { goDiff } from '../../validation/go/diff.ts';
import { goValue } from '../../validation/go/print.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateObjectMeta } from '../../validation/object-meta.ts';
import { validateNoBacksteps } from '../../validation/paths.ts';
import { validateNodeSelector } from '../../validation/pod/node-selector.ts';
import {
  ISCSI_NAME_TOO_LONG,
  iscsiNameTooLong,
  PERSISTENT_ISCSI_FORM,
  tooManyTypes,
  validateAzureDisk,
  validateCsiDriverName,
  validateFibreChannel,
  validateFlex,
  validateFlocker,
  validateHostPath,
  validateIscsi,
  validateNfs,
  validatePartition,
  validateQuobyte,
  validateRequiredFields,
  validateSecretName,
  validateStorageOs,
} from '../../validation/pod/volume-sources.ts';
import { goResourceList, validateBasicAmount, validatePositiveQuantity } from '../../validation/quantities.ts';
import { checkedInSteps, checkedUpdate } from '../checked.ts';

const META = { namespaced: false, name: dnsSubdomainErrors } as const;

/** An update is checked as a new volume twice, before what may not change at all. */
export const volumeChecks = checkedInSteps<PersistentVolume>(META, {
  whole: (out, volume, old) => {
    validateSpec(out, volume.spec, volume.metadata.name ?? '');
    validateMountOptions(out, volume);
    if (old === undefined) return;
    validateObjectMeta(out, volume.metadata, META);
    validateSpec(out, volume.spec, volume.metadata.name ?? '');
    validateChange(out, volume.spec, old.spec);
  },
  onUpdate: ['whole', 'metadata'],
});

const MOUNT_OPTIONS = 'volume.beta.kubernetes.io/mount-options';
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

/** The annotation of old is only for what can be mounted with options. */
function validateMountOptions(out: FieldError[], { metadata, spec }: Readonly<PersistentVolume>): void {
  if (metadata.annotations?.[MOUNT_OPTIONS] === undefined) return;
  if (WITH_MOUNT_OPTIONS.some((key) => spec[key] !== undefined)) return;
  out.push(forbidden(`metadata.annotations.${MOUNT_OPTIONS}`, 'may not specify mount options for this volume type'));
}

export const validateVolumeStatusUpdate = checkedUpdate<PersistentVolume>(() => {});

function validateSpec(out: FieldError[], spec: Readonly<PersistentVolumeSpec>, name: string): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) out.push(required('spec.accessModes'));
  validateAccessModes(out, 'spec.accessModes', modes);
  validateCapacity(out, spec.capacity);
  validateWord(out, 'spec.persistentVolumeReclaimPolicy', spec.persistentVolumeReclaimPolicy, [
    'Delete',
    'Recycle',
    'Retain',
  ]);
  validateAffinity(out, spec);
  validateSource(out, spec, name);
  if (/^\/+\.?\/*$/.test(spec.hostPath?.path ?? '') && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    out.push(forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (spec.storageClassName) validateDnsSubdomain(out, 'spec.storageClassName', spec.storageClassName);
  validateWord(out, 'spec.volumeMode', spec.volumeMode, VOLUME_MODES);
}

function validateCapacity(out: FieldError[], capacity: Readonly<Record<string, string>> | undefined): void {
  const names = Object.keys(capacity ?? {});
  if (names.length === 0) out.push(required('spec.capacity'));
  if (!names.includes('storage') || names.length > 1) {
    out.push(notSupported('spec.capacity', goResourceList(capacity), ['storage']));
  }
  for (const [name, amount] of Object.entries(capacity ?? {})) {
    validateBasicAmount(out, `spec.capacity[${name}]`, amount);
    validatePositiveQuantity(out, `spec.capacity[${name}]`, amount);
  }
}

function validateAffinity(out: FieldError[], { nodeAffinity }: Readonly<PersistentVolumeSpec>): void {
  if (nodeAffinity === undefined) return;
  const path = 'spec.nodeAffinity.required';
  if (nodeAffinity.required === undefined) out.push(required(path, 'must specify required node constraints'));
  else validateNodeSelector(out, path, nodeAffinity.required);
}

interface Owner {
  readonly spec: Readonly<PersistentVolumeSpec>;
  readonly name: string;
}

type SourceKey = keyof PersistentVolumeSpec;

interface Source {
  readonly key: SourceKey;
  readonly forbiddenPath?: string;
  readonly validate: (out: FieldError[], spec: Readonly<PersistentVolumeSpec>, name: string) => void;
}

function source<K extends SourceKey>(
  key: K,
  validate: (out: FieldError[], path: string, value: NonNullable<PersistentVolumeSpec[K]>, owner: Owner) => void,
  names: { readonly path?: string; readonly forbiddenPath?: string } = {},
): Source {
  return {
    key,
    ...(names.forbiddenPath === undefined ? {} : { forbiddenPath: names.forbiddenPath }),
    validate: (out, spec, name) => {
      const value = spec[key];
      if (value !== undefined && value !== null) validate(out, `spec.${names.path ?? key}`, value, { spec, name });
    },
  };
}

/** In this order: the first one given is the one that counts. */
const SOURCES: readonly Source[] = [
  source('hostPath', validateHostPath),
  source(
    'gcePersistentDisk',
    (out, path, value) => {
      validateRequiredFields(out, path, value, ['pdName']);
      validatePartition(out, path, value.partition);
    },
    { path: 'persistentDisk' },
  ),
  source('awsElasticBlockStore', (out, path, value) => {
    validateRequiredFields(out, path, value, ['volumeID']);
    validatePartition(out, path, value.partition);
  }),
  source('glusterfs', (out, path, value) => {
    validateRequiredFields(out, path, value, ['endpoints', 'path']);
    const namespace = value.endpointsNamespace;
    if (namespace === '') {
      const detail = 'if the endpointnamespace is set, it must be a valid namespace name';
      out.push(invalid(`${path}.endpointsNamespace`, namespace, detail));
    } else if (namespace !== undefined) validateDnsLabel(out, `${path}.endpointsNamespace`, namespace);
  }),
  source('flocker', validateFlocker),
  source('nfs', validateNfs),
  source('rbd', (out, path, value) => validateRequiredFields(out, path, value, ['monitors', 'image'])),
  source('quobyte', validateQuobyte),
  source('cephfs', (out, path, value) => validateRequiredFields(out, path, value, ['monitors']), {
    forbiddenPath: 'cephFS',
  }),
  source('iscsi', (out, path, value, { name }) => {
    if (iscsiNameTooLong(name, value)) {
      out.push(invalid(`${path}.targetportal`, value.targetPortal, ISCSI_NAME_TOO_LONG));
    }
    validateIscsi(out, path, value, PERSISTENT_ISCSI_FORM);
  }),
  source('cinder', (out, path, value) => {
    validateRequiredFields(out, path, value, ['volumeID']);
    validateSecretName(out, path, value.secretRef, true);
  }),
  source('fc', validateFibreChannel),
  source('flexVolume', validateFlex),
  source('azureFile', (out, path, value) => {
    validateRequiredFields(out, path, value, ['secretName', 'shareName']);
    if (value.secretNamespace === '') out.push(required(`${path}.secretNamespace`));
  }),
  source('vsphereVolume', (out, path, value) => validateRequiredFields(out, path, value, ['volumePath'])),
  source('photonPersistentDisk', (out, path, value) => validateRequiredFields(out, path, value, ['pdID'])),
  source('portworxVolume', (out, path, value) => validateRequiredFields(out, path, value, ['volumeID'])),
  source('azureDisk', validateAzureDisk),
  source('scaleIO', (out, path, value) =>
    validateRequiredFields(out, path, value, ['gateway', 'system', 'volumeName']),
  ),
  source('local', (out, path, value, { spec }) => {
    if (validateRequiredText(out, `${path}.path`, value.path)) validateNoBacksteps(out, `${path}.path`, value.path);
    if (spec.nodeAffinity === undefined) {
      out.push(required('spec.nodeAffinity', 'Local volume requires node affinity'));
    }
  }),
  source('storageos', (out, path, value) => {
    validateStorageOs(out, path, value);
    validateSecretName(out, path, value.secretRef, true);
  }),
  source('csi', (out, path, value) => {
    validateCsiDriverName(out, `${path}.driver`, value.driver);
    validateRequiredFields(out, path, value, ['volumeHandle']);
    for (const key of CSI_SECRETS) validateSecret(out, `${path}.${key}`, value[key]);
  }),
];

const CSI_SECRETS = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function validateSecret(out: FieldError[], path: string, ref: Readonly<SecretReference> | undefined): void {
  if (ref === undefined) return;
  if (validateRequiredText(out, `${path}.name`, ref.name)) validateDnsSubdomain(out, `${path}.name`, ref.name ?? '');
  if (validateRequiredText(out, `${path}.namespace`, ref.namespace)) {
    validateDnsLabel(out, `${path}.namespace`, ref.namespace ?? '');
  }
}

function validateSource(out: FieldError[], spec: Readonly<PersistentVolumeSpec>, name: string): void {
  const given = SOURCES.filter(({ key }) => spec[key] !== undefined);
  const [first] = given;
  for (const candidate of given) {
    // A volume of an own driver is checked whatever else is given.
    if (candidate === first || candidate.key === 'flexVolume') candidate.validate(out, spec, name);
    else out.push(tooManyTypes(`spec.${candidate.forbiddenPath ?? candidate.key}`));
  }
  if (first === undefined) out.push(required('spec', 'must specify a volume type'));
}

function sourcesOf(spec: Readonly<PersistentVolumeSpec>): object {
  return Object.fromEntries(SOURCES.map(({ key }) => [key, spec[key]]));
}

/** What a volume is does not change; only how to grow it may be learned later. */
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

/** Labels of nodes that got a stable name: a volume may follow them. */
const STABLE_NAMES: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
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
