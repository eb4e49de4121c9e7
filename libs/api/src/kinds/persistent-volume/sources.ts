import { type FieldError, invalid, required } from '@holdfast/machinery';
import type { PersistentVolumeSpec, SecretReference } from '../../generated/types.ts';
import { validateDnsLabel, validateDnsSubdomain, validateRequiredText } from '../../validation/check.ts';
import { validateNoBacksteps } from '../../validation/paths.ts';
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
import { validateStorageServerVolume } from './storage-server.ts';

/** The position of a spec and its owner. */
export interface SpecPlace {
  readonly path: string;
  /** The name of the volume; '' for an inline volume. */
  readonly name: string;
}

interface Owner extends SpecPlace {
  readonly spec: Readonly<PersistentVolumeSpec>;
  readonly isOnNodes: boolean;
}

type SourceKey = keyof PersistentVolumeSpec;

interface Source {
  readonly key: SourceKey;
  readonly forbiddenPath?: string;
  readonly validate: (out: FieldError[], owner: Owner) => void;
}

function source<K extends SourceKey>(
  key: K,
  validate: (out: FieldError[], path: string, value: NonNullable<PersistentVolumeSpec[K]>, owner: Owner) => void,
  names: { readonly path?: string; readonly forbiddenPath?: string } = {},
): Source {
  return {
    key,
    ...(names.forbiddenPath === undefined ? {} : { forbiddenPath: names.forbiddenPath }),
    validate: (out, owner) => {
      const value = owner.spec[key];
      if (value !== undefined && value !== null) validate(out, `${owner.path}.${names.path ?? key}`, value, owner);
    },
  };
}

/** In this order: the first given source counts. */
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
  source('local', (out, path, value, owner) => {
    if (validateRequiredText(out, `${path}.path`, value.path)) validateNoBacksteps(out, `${path}.path`, value.path);
    if (!owner.isOnNodes) out.push(required(`${owner.path}.nodeAffinity`, 'Local volume requires node affinity'));
  }),
  source('storageos', (out, path, value) => {
    validateStorageOs(out, path, value);
    validateSecretName(out, path, value.secretRef, true);
  }),
  source('csi', (out, path, value, owner) => {
    validateCsiDriverName(out, `${path}.driver`, value.driver);
    validateRequiredFields(out, path, value, ['volumeHandle']);
    for (const key of CSI_SECRETS) validateSecret(out, `${path}.${key}`, value[key]);
    validateStorageServerVolume(out, { path, name: owner.name }, value);
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

export function validateSource(out: FieldError[], owner: Owner): void {
  const { path, spec } = owner;
  const given = SOURCES.filter(({ key }) => spec[key] !== undefined);
  const [first] = given;
  for (const candidate of given) {
    // A flexVolume is validated even beside another source.
    if (candidate === first || candidate.key === 'flexVolume') candidate.validate(out, owner);
    else out.push(tooManyTypes(`${path}.${candidate.forbiddenPath ?? candidate.key}`));
  }
  if (first === undefined) out.push(required(path, 'must specify a volume type'));
}

export function sourcesOf(spec: Readonly<PersistentVolumeSpec>): object {
  return Object.fromEntries(SOURCES.map(({ key }) => [key, spec[key]]));
}
