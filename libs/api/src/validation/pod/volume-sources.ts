import { type FieldError, forbidden, invalid, notSupported, required, tooLong } from '@holdfast/machinery';
import type {
  AzureDiskVolumeSource,
  CSIVolumeSource,
  FCVolumeSource,
  FlockerVolumeSource,
  HostPathVolumeSource,
  NFSVolumeSource,
  QuobyteVolumeSource,
  StorageOSVolumeSource,
} from '../../generated/types.ts';
import { STORAGE_SERVER_DRIVER } from '../../semantics/well-known.ts';
import { validateDnsLabel, validateRequiredText, validateText, validateWord } from '../check.ts';
import { byteLength, dnsSubdomainErrors, rangeText } from '../formats.ts';
import { goStrings } from '../go-text.ts';
import { validateAbsolutePath, validateNoBacksteps } from '../paths.ts';

/** Sources that pod volumes and persistent volumes share. */
const HOST_PATH_TYPES = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

export function validateHostPath(out: FieldError[], path: string, source: Readonly<HostPathVolumeSource>): void {
  if (!validateRequiredText(out, `${path}.path`, source.path)) return;
  validateNoBacksteps(out, `${path}.path`, source.path);
  validateWord(out, `${path}.type`, source.type, HOST_PATH_TYPES);
}

export function validateNfs(out: FieldError[], path: string, source: Readonly<NFSVolumeSource>): void {
  validateRequiredText(out, `${path}.server`, source.server);
  validateRequiredText(out, `${path}.path`, source.path);
  validateAbsolutePath(out, `${path}.path`, source.path ?? '');
}

interface Iscsi {
  readonly targetPortal: string;
  readonly iqn: string;
  readonly lun: number;
  readonly chapAuthDiscovery?: boolean;
  readonly chapAuthSession?: boolean;
  readonly initiatorName?: string;
  readonly secretRef?: { readonly name?: string };
}

const IQN_FORMS: ReadonlyMap<string, (name: string) => boolean> = new Map(
  Object.entries({
    iqn: endsInIqn,
    eui: (name) => /^eui.[a-zA-Z0-9]{16}$/.test(name),
    naa: (name) => /^naa.[a-zA-Z0-9]{32}$/.test(name),
  }),
);

/**
 * Matches `/iqn\.\d{4}-\d{2}\.([a-zA-Z0-9.-]+)(:[^,;*&$|\s]+)$/`, as in Kubernetes not anchored at the start. A
 * backtracking engine would restart at every `iqn` of a long name, so this parses the text by hand.
 */
function endsInIqn(name: string): boolean {
  const parts = (name.split(/[,;*&$|\s]/).at(-1) ?? '').split(':');
  const last = parts.pop();
  if (last === '') parts.pop();
  return parts.some((part) => /iqn\.\d{4}-\d{2}\.[a-zA-Z0-9.-]/.test(part.split(/[^a-zA-Z0-9.-]/).at(-1) ?? ''));
}

const MALFORMED = 'must be valid format';
const UNKNOWN_FORM = `${MALFORMED} starting with iqn, eui, or naa`;

/** `unknownForm` is the error for a target of an unknown format; the two kinds of volumes word it differently. */
export function validateIscsi(out: FieldError[], path: string, source: Iscsi, unknownForm = UNKNOWN_FORM): void {
  validateRequiredText(out, `${path}.targetPortal`, source.targetPortal);
  if (validateRequiredText(out, `${path}.iqn`, source.iqn)) validateIqn(out, `${path}.iqn`, source.iqn, unknownForm);
  if (source.lun < 0 || source.lun > 255) out.push(invalid(`${path}.lun`, source.lun, rangeText(0, 255)));
  if ((source.chapAuthDiscovery === true || source.chapAuthSession === true) && source.secretRef === undefined) {
    out.push(required(`${path}.secretRef`));
  }
  if (source.secretRef !== undefined && unknownForm === PERSISTENT_ISCSI_FORM) {
    validateRequiredText(out, `${path}.secretRef.name`, source.secretRef.name);
  }
  if (source.initiatorName !== undefined) {
    validateIqn(out, `${path}.initiatorname`, source.initiatorName, UNKNOWN_FORM);
  }
}

export const PERSISTENT_ISCSI_FORM = MALFORMED;

function validateIqn(out: FieldError[], path: string, name: string, unknownForm: string): void {
  const form = IQN_FORMS.get(name.slice(0, 3));
  if (form === undefined) out.push(invalid(path, name, unknownForm));
  else if (!form(name)) out.push(invalid(path, name, MALFORMED));
}

export const ISCSI_NAME_TOO_LONG =
  'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.';

/** The initiator name contains both and has a length limit. */
export const iscsiNameTooLong = (name: string, source: Iscsi): boolean =>
  source.initiatorName !== undefined && byteLength(`${name}:${source.targetPortal}`) > 64;

export function validateFibreChannel(out: FieldError[], path: string, source: Readonly<FCVolumeSource>): void {
  const { targetWWNs = [], wwids = [], lun } = source;
  const at = `${path}.targetWWNs`;
  if (targetWWNs.length === 0 && wwids.length === 0) {
    out.push(required(at, 'must specify either targetWWNs or wwids, but not both'));
  }
  if (targetWWNs.length > 0 && wwids.length > 0) {
    out.push(invalid(at, goStrings(targetWWNs), 'targetWWNs and wwids can not be specified simultaneously'));
  }
  if (targetWWNs.length === 0) return;
  if (lun === undefined) out.push(required(`${path}.lun`, 'lun is required if targetWWNs is specified'));
  else if (lun < 0 || lun > 255) out.push(invalid(`${path}.lun`, lun, rangeText(0, 255)));
}

export function validatePartition(out: FieldError[], path: string, partition: number | undefined): void {
  if (partition === undefined || (partition >= 0 && partition <= 255)) return;
  out.push(invalid(`${path}.partition`, partition, rangeText(1, 255)));
}

export function validateQuobyte(out: FieldError[], path: string, source: Readonly<QuobyteVolumeSource>): void {
  const pairs = 'must be a host:port pair or multiple pairs separated by commas';
  if (validateRequiredText(out, `${path}.registry`, source.registry, pairs)) {
    if (byteLength(source.tenant ?? '') >= 65) {
      out.push(required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters'));
    } else {
      for (const pair of source.registry.split(',')) {
        if (!/^(\[[^\]]*\]|[^:]*):[^:]*$/.test(pair)) out.push(invalid(`${path}.registry`, source.registry, pairs));
      }
    }
  }
  validateRequiredText(out, `${path}.volume`, source.volume);
}

export function validateFlocker(out: FieldError[], path: string, source: Readonly<FlockerVolumeSource>): void {
  const { datasetName = '', datasetUUID = '' } = source;
  if (datasetName === '' && datasetUUID === '') {
    out.push(required(path, 'one of datasetName and datasetUUID is required'));
  }
  if (datasetName !== '' && datasetUUID !== '') {
    out.push(invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously'));
  }
  if (datasetName.includes('/')) out.push(invalid(`${path}.datasetName`, datasetName, "must not contain '/'"));
}

export function validateFlex(
  out: FieldError[],
  path: string,
  source: { readonly driver: string; readonly options?: Readonly<Record<string, string>> },
): void {
  validateRequiredText(out, `${path}.driver`, source.driver);
  for (const key of Object.keys(source.options ?? {})) {
    const namespace = `.${(key.split('/', 2)[0] ?? '').toLowerCase()}`;
    if (namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io')) {
      out.push(invalid(`${path}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved'));
    }
  }
}

const MANAGED_URI = '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}';
const BLOB_URI = 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd';

export function validateAzureDisk(out: FieldError[], path: string, source: Readonly<AzureDiskVolumeSource>): void {
  validateRequiredText(out, `${path}.diskName`, source.diskName);
  validateRequiredText(out, `${path}.diskURI`, source.diskURI);
  validateWord(out, `${path}.cachingMode`, source.cachingMode, ['None', 'ReadOnly', 'ReadWrite']);
  validateWord(out, `${path}.kind`, source.kind, ['Dedicated', 'Managed', 'Shared']);
  const uri = source.diskURI ?? '';
  const managed = source.kind === 'Managed';
  if (managed && !uri.startsWith('/subscriptions/')) out.push(notSupported(`${path}.diskURI`, uri, [MANAGED_URI]));
  if (source.kind !== undefined && !managed && !uri.startsWith('https://')) {
    out.push(notSupported(`${path}.diskURI`, uri, [BLOB_URI]));
  }
}

export function validateStorageOs(
  out: FieldError[],
  path: string,
  source: Pick<StorageOSVolumeSource, 'volumeName' | 'volumeNamespace'>,
): void {
  if (validateRequiredText(out, `${path}.volumeName`, source.volumeName)) {
    validateDnsLabel(out, `${path}.volumeName`, source.volumeName ?? '');
  }
  if (source.volumeNamespace) validateDnsLabel(out, `${path}.volumeNamespace`, source.volumeNamespace);
}

export function validateRequiredFields<T extends object>(
  out: FieldError[],
  path: string,
  source: T,
  keys: readonly (keyof T & string)[],
): void {
  for (const key of keys) {
    const value: unknown = source[key];
    if (value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) {
      out.push(required(`${path}.${key}`));
    }
  }
}

export function validateCsiDriverName(out: FieldError[], path: string, name: string | undefined): void {
  validateRequiredText(out, path, name);
  if (byteLength(name ?? '') > 63) out.push(tooLong(path, 63));
  for (const text of dnsSubdomainErrors((name ?? '').toLowerCase())) out.push(invalid(path, name ?? '', text));
}

export function validateCsiVolume(out: FieldError[], path: string, source: Readonly<CSIVolumeSource>): void {
  validateCsiDriverName(out, `${path}.driver`, source.driver);
  // Inline there is no attachment, and so no token that keeps old writers out.
  if (source.driver === STORAGE_SERVER_DRIVER)
    out.push(invalid(`${path}.driver`, source.driver, 'can only be used through a PersistentVolumeClaim'));
  if (source.nodePublishSecretRef === undefined) return;
  const name = source.nodePublishSecretRef.name ?? '';
  if (validateRequiredText(out, `${path}.nodePublishSecretRef.name`, name)) {
    validateText(out, `${path}.name`, name, dnsSubdomainErrors);
  }
}

/** Validates the name of an optional secret. */
export function validateSecretName(
  out: FieldError[],
  path: string,
  ref: { readonly name?: string; readonly namespace?: string } | undefined,
  namespaced = false,
): void {
  if (ref === undefined) return;
  validateRequiredText(out, `${path}.secretRef.name`, ref.name);
  if (namespaced) validateRequiredText(out, `${path}.secretRef.namespace`, ref.namespace);
}

export const MORE_THAN_ONE_TYPE = 'may not specify more than 1 volume type';

export const tooManyTypes = (path: string): FieldError => forbidden(path, MORE_THAN_ONE_TYPE);
