import { duplicate, type FieldError, forbidden, invalid, parseQuantity, required } from '@holdfast/machinery';
import type {
  ConfigMapVolumeSource,
  DownwardAPIVolumeSource,
  EmptyDirVolumeSource,
  EphemeralVolumeSource,
  GitRepoVolumeSource,
  SecretVolumeSource,
  Volume,
} from '../../generated/types.ts';
import { validateDnsLabel, validateRequiredText } from '../check.ts';
import { validatePersistentVolumeClaimTemplate } from '../claims.ts';
import { dnsSubdomainErrors } from '../formats.ts';
import { validateDescendingPath, validateFileMode } from '../paths.ts';
import { validateProjected } from './projected.ts';
import { validateDownwardFile, validateKeysToPaths } from './volume-files.ts';
import {
  ISCSI_NAME_TOO_LONG,
  iscsiNameTooLong,
  tooManyTypes,
  validateAzureDisk,
  validateCsiVolume,
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
} from './volume-sources.ts';

export type Volumes = ReadonlyMap<string, Readonly<Volume>>;

/** Returns the volumes that containers may mount: those without an error. */
export function validateVolumes(
  out: FieldError[],
  path: string,
  volumes: readonly Volume[],
  podName: string | undefined,
): Volumes {
  const usable = new Map<string, Readonly<Volume>>();
  const created = new Set(
    volumes.filter(({ ephemeral }) => ephemeral !== undefined).map(({ name }) => `${podName}-${name}`),
  );
  for (const [i, volume] of volumes.entries()) {
    const at = `${path}[${i}]`;
    const problems: FieldError[] = [];
    validateVolume(problems, at, volume, podName);
    if (validateRequiredText(problems, `${at}.name`, volume.name)) {
      validateDnsLabel(problems, `${at}.name`, volume.name);
    }
    if (usable.has(volume.name)) problems.push(duplicate(`${at}.name`, volume.name));
    if (problems.length === 0) usable.set(volume.name, volume);
    for (const problem of problems) out.push(problem);
    if (podName) validateNotOwnClaim(out, at, volume, created);
  }
  return usable;
}

/** The claim of the pod's own ephemeral volume cannot also be a claim that the pod references. */
function validateNotOwnClaim(
  out: FieldError[],
  path: string,
  volume: Readonly<Volume>,
  created: ReadonlySet<string>,
): void {
  const claim = volume.persistentVolumeClaim?.claimName;
  if (claim === undefined || !created.has(claim)) return;
  const detail = 'must not reference a PVC that gets created for an ephemeral volume';
  out.push(invalid(`${path}.persistentVolumeClaim.claimName`, claim, detail));
}

interface Source {
  readonly key: keyof Volume;
  readonly validate: (out: FieldError[], path: string, volume: Readonly<Volume>) => void;
  /** Set when the error path differs from the volume's field; clients know this path. */
  readonly path?: string;
  readonly forbiddenPath?: string;
}

function source<K extends keyof Volume>(
  key: K,
  validate: (out: FieldError[], path: string, value: NonNullable<Volume[K]>) => void,
  names: Pick<Source, 'path' | 'forbiddenPath'> = {},
): Source {
  return {
    key,
    ...names,
    validate: (out, path, volume) => {
      const value = volume[key];
      if (value !== undefined && value !== null) validate(out, `${path}.${names.path ?? key}`, value);
    },
  };
}

/** In this order: the first given source counts. */
const SOURCES: readonly Source[] = [
  source('emptyDir', validateEmptyDir),
  source('hostPath', validateHostPath),
  source('gitRepo', validateGitRepo),
  source('gcePersistentDisk', validateGceDisk, { path: 'persistentDisk' }),
  source('awsElasticBlockStore', (out, path, value) => {
    validateRequiredFields(out, path, value, ['volumeID']);
    validatePartition(out, path, value.partition);
  }),
  source('secret', validateSecretVolume),
  source('nfs', validateNfs),
  source('iscsi', validateIscsi),
  source('glusterfs', (out, path, value) => validateRequiredFields(out, path, value, ['endpoints', 'path'])),
  source('flocker', validateFlocker),
  source('persistentVolumeClaim', (out, path, value) => validateRequiredFields(out, path, value, ['claimName'])),
  source('rbd', (out, path, value) => validateRequiredFields(out, path, value, ['monitors', 'image'])),
  source('cinder', (out, path, value) => {
    validateRequiredFields(out, path, value, ['volumeID']);
    validateSecretName(out, path, value.secretRef);
  }),
  source('cephfs', (out, path, value) => validateRequiredFields(out, path, value, ['monitors']), {
    forbiddenPath: 'cephFS',
  }),
  source('quobyte', validateQuobyte),
  source('downwardAPI', validateDownwardVolume, { forbiddenPath: 'downwarAPI' }),
  source('fc', validateFibreChannel),
  source('flexVolume', validateFlex),
  source('configMap', validateConfigMapVolume),
  source('azureFile', (out, path, value) => validateRequiredFields(out, path, value, ['secretName', 'shareName'])),
  source('vsphereVolume', (out, path, value) => validateRequiredFields(out, path, value, ['volumePath'])),
  source('photonPersistentDisk', (out, path, value) => validateRequiredFields(out, path, value, ['pdID'])),
  source('portworxVolume', (out, path, value) => validateRequiredFields(out, path, value, ['volumeID'])),
  source('azureDisk', validateAzureDisk),
  source('storageos', (out, path, value) => {
    validateStorageOs(out, path, value);
    validateSecretName(out, path, value.secretRef);
  }),
  source('projected', validateProjected),
  source('scaleIO', (out, path, value) =>
    validateRequiredFields(out, path, value, ['gateway', 'system', 'volumeName']),
  ),
  source('csi', validateCsiVolume),
  source('ephemeral', validateEphemeral),
];

function validateVolume(out: FieldError[], path: string, volume: Readonly<Volume>, podName: string | undefined): void {
  const given = SOURCES.filter(({ key }) => volume[key] !== undefined);
  const [first] = given;
  if (first === undefined) out.push(required(path, 'must specify a volume type'));
  for (const candidate of given) {
    if (candidate === first) candidate.validate(out, path, volume);
    else out.push(tooManyTypes(`${path}.${candidate.forbiddenPath ?? candidate.key}`));
    if (candidate.key === 'iscsi' && volume.iscsi !== undefined && iscsiNameTooLong(volume.name, volume.iscsi)) {
      out.push(invalid(`${path}.name`, volume.name, ISCSI_NAME_TOO_LONG));
    }
    if (candidate === first && candidate.key === 'ephemeral') validateClaimName(out, path, volume.name, podName);
  }
}

function validateClaimName(out: FieldError[], path: string, name: string, podName: string | undefined): void {
  if (!podName || !name) return;
  const claim = `${podName}-${name}`;
  for (const text of dnsSubdomainErrors(claim)) out.push(invalid(`${path}.name`, name, `PVC name "${claim}": ${text}`));
}

function validateEmptyDir(out: FieldError[], path: string, value: Readonly<EmptyDirVolumeSource>): void {
  if (value.sizeLimit === undefined || parseQuantity(value.sizeLimit).nano >= 0n) return;
  out.push(forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity'));
}

function validateGitRepo(out: FieldError[], path: string, value: Readonly<GitRepoVolumeSource>): void {
  validateRequiredFields(out, path, value, ['repository']);
  validateDescendingPath(out, `${path}.directory`, value.directory ?? '');
}

function validateGceDisk(
  out: FieldError[],
  path: string,
  value: { readonly pdName: string; readonly partition?: number },
): void {
  validateRequiredFields(out, path, value, ['pdName']);
  validatePartition(out, path, value.partition);
}

function validateSecretVolume(out: FieldError[], path: string, value: Readonly<SecretVolumeSource>): void {
  validateRequiredFields(out, path, value, ['secretName']);
  validateFileMode(out, `${path}.defaultMode`, value.defaultMode);
  validateKeysToPaths(out, `${path}.items`, value.items);
}

function validateConfigMapVolume(out: FieldError[], path: string, value: Readonly<ConfigMapVolumeSource>): void {
  validateRequiredFields(out, path, value, ['name']);
  validateFileMode(out, `${path}.defaultMode`, value.defaultMode);
  validateKeysToPaths(out, `${path}.items`, value.items);
}

function validateDownwardVolume(out: FieldError[], path: string, value: Readonly<DownwardAPIVolumeSource>): void {
  validateFileMode(out, `${path}.defaultMode`, value.defaultMode);
  for (const file of value.items ?? []) validateDownwardFile(out, path, file);
}

function validateEphemeral(out: FieldError[], path: string, value: Readonly<EphemeralVolumeSource>): void {
  if (value.volumeClaimTemplate === undefined) out.push(required(`${path}.volumeClaimTemplate`));
  else validatePersistentVolumeClaimTemplate(out, `${path}.volumeClaimTemplate`, value.volumeClaimTemplate);
}
