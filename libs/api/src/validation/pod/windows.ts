import { type FieldError, forbidden, invalid } from '@holdfast/machinery';
import type { Container, EphemeralContainer, PodSpec, WindowsSecurityContextOptions } from '../../generated/types.ts';
import { validateDnsSubdomain } from '../check.ts';
import { byteLength } from '../formats.ts';

const GMSA_SPEC_KIB_MAX = 64;
const USER_DOMAIN_CHARS_MAX = 256;
const USER_CHARS_MAX = 104;

const CONTROL_CHARACTER = /\p{Cc}/u;
const NET_BIOS = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
const DNS_LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
const DNS_DOMAIN = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);
const USER_FORBIDDEN = /["/\\:;|=,+*?<>@[\]]/;
const USER_BLANK = /^[. ]+$/;

export function validateWindowsOptions(
  out: FieldError[],
  path: string,
  options: Readonly<WindowsSecurityContextOptions> | undefined,
): void {
  if (options === undefined) return;
  if (options.gmsaCredentialSpecName !== undefined) {
    validateDnsSubdomain(out, `${path}.gmsaCredentialSpecName`, options.gmsaCredentialSpecName);
  }
  const spec = options.gmsaCredentialSpec;
  if (spec === '') {
    out.push(invalid(`${path}.gmsaCredentialSpec`, spec, 'gmsaCredentialSpec cannot be an empty string'));
  } else if (spec !== undefined && byteLength(spec) > GMSA_SPEC_KIB_MAX * 1024) {
    const detail = `gmsaCredentialSpec size must be under ${GMSA_SPEC_KIB_MAX} KiB`;
    out.push(invalid(`${path}.gmsaCredentialSpec`, spec, detail));
  }
  if (options.runAsUserName === undefined) return;
  for (const text of userNameErrors(options.runAsUserName)) {
    out.push(invalid(`${path}.runAsUserName`, options.runAsUserName, text));
  }
}

function userNameErrors(name: string): readonly string[] {
  if (name === '') return ['runAsUserName cannot be an empty string'];
  if (CONTROL_CHARACTER.test(name)) return ['runAsUserName cannot contain control characters'];
  const parts = name.split('\\');
  if (parts.length > 2) return ['runAsUserName cannot contain more than one backslash'];
  const user = parts.at(-1) ?? '';
  return [...(parts.length === 2 ? domainErrors(parts[0] ?? '') : []), ...userErrors(user)];
}

function domainErrors(domain: string): readonly string[] {
  const errors: string[] = [];
  if (domain.length >= USER_DOMAIN_CHARS_MAX) {
    errors.push(`runAsUserName's Domain length must be under ${USER_DOMAIN_CHARS_MAX} characters`);
  }
  if (!NET_BIOS.test(domain) && !DNS_DOMAIN.test(domain)) {
    errors.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format");
  }
  return errors;
}

function userErrors(user: string): readonly string[] {
  const errors: string[] = [];
  if (user === '') errors.push("runAsUserName's User cannot be empty");
  else if (user.length > USER_CHARS_MAX) {
    errors.push(`runAsUserName's User length must not be longer than ${USER_CHARS_MAX} characters`);
  }
  if (USER_BLANK.test(user)) errors.push("runAsUserName's User cannot contain only periods or spaces");
  if (USER_FORBIDDEN.test(user)) {
    errors.push(`runAsUserName's User cannot contain the following characters: "/\\:;|=,+*?<>@[]`);
  }
  return errors;
}

interface PlacedContainer {
  readonly container: Readonly<Container | EphemeralContainer>;
  readonly path: string;
}

export function allContainers(spec: Readonly<PodSpec>, path: string): readonly PlacedContainer[] {
  return [
    ...(spec.initContainers ?? []).map((container, i) => ({ container, path: `${path}.initContainers[${i}]` })),
    ...spec.containers.map((container, i) => ({ container, path: `${path}.containers[${i}]` })),
    ...(spec.ephemeralContainers ?? []).map((container, i) => ({
      container,
      path: `${path}.ephemeralContainers[${i}]`,
    })),
  ];
}

/** A pod runs on the host with all its containers or with none. */
export function validateHostProcess(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  const podWide = spec.securityContext?.windowsOptions?.hostProcess;
  const containers = allContainers(spec, path);
  let onHost = 0;
  for (const { container, path: at } of containers) {
    const own = container.securityContext?.windowsOptions?.hostProcess;
    if (podWide !== undefined && own !== undefined && podWide !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${podWide}`;
      out.push(invalid(`${at}.securityContext.windowsOptions.hostProcess`, own, detail));
    }
    if (own ?? podWide ?? false) onHost += 1;
  }
  if (onHost === 0) return;
  if (onHost !== containers.length) {
    out.push(
      invalid(
        path,
        '',
        'If pod contains any hostProcess containers then all containers must be HostProcess containers',
      ),
    );
  }
  if (spec.hostNetwork !== true) {
    const detail = 'hostNetwork must be true if pod contains any hostProcess containers';
    out.push(invalid(`${path}.hostNetwork`, false, detail));
  }
}

const NOT_FOR_WINDOWS = 'cannot be set for a windows pod';

/** In the order of the reports; fields of the pod itself are mixed with those of its security context. */
const POD_LINUX_FIELDS = [
  'securityContext.appArmorProfile',
  'securityContext.seLinuxOptions',
  'securityContext.seLinuxChangePolicy',
  'hostUsers',
  'hostPID',
  'hostIPC',
  'securityContext.seccompProfile',
  'securityContext.fsGroup',
  'securityContext.fsGroupChangePolicy',
  'securityContext.sysctls',
  'shareProcessNamespace',
  'securityContext.runAsUser',
  'securityContext.runAsGroup',
  'securityContext.supplementalGroups',
  'securityContext.supplementalGroupsPolicy',
] as const;

const CONTAINER_LINUX_FIELDS = [
  'appArmorProfile',
  'seLinuxOptions',
  'seccompProfile',
  'capabilities',
  'readOnlyRootFilesystem',
  'privileged',
  'allowPrivilegeEscalation',
  'procMount',
  'runAsUser',
  'runAsGroup',
] as const;

export function validateForWindows(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  const given = linuxFieldsOf(spec);
  for (const key of POD_LINUX_FIELDS) if (given.has(key)) out.push(forbidden(`${path}.${key}`, NOT_FOR_WINDOWS));
  for (const { container, path: at } of allContainers(spec, path)) {
    for (const key of CONTAINER_LINUX_FIELDS) {
      if (container.securityContext?.[key] === undefined) continue;
      out.push(forbidden(`${at}.securityContext.${key}`, NOT_FOR_WINDOWS));
    }
  }
}

/** Returns the fields that are set: a false flag and an empty list count as unset. */
function linuxFieldsOf(spec: Readonly<PodSpec>): ReadonlySet<string> {
  const given = new Set<string>();
  for (const [key, value] of Object.entries(spec.securityContext ?? {})) {
    const isEmptyList = key === 'sysctls' && Array.isArray(value) && value.length === 0;
    if (value !== undefined && !isEmptyList) given.add(`securityContext.${key}`);
  }
  for (const key of ['hostUsers', 'shareProcessNamespace'] as const) if (spec[key] !== undefined) given.add(key);
  for (const key of ['hostPID', 'hostIPC'] as const) if (spec[key] === true) given.add(key);
  return given;
}

export function validateForLinux(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  const text = 'windows options cannot be set for a linux pod';
  if (spec.securityContext?.windowsOptions !== undefined) {
    out.push(forbidden(`${path}.securityContext.windowsOptions`, text));
  }
  for (const { container, path: at } of allContainers(spec, path)) {
    if (container.securityContext?.windowsOptions === undefined) continue;
    out.push(forbidden(`${at}.securityContext.windowsOptions`, text));
  }
}
