import { duplicate, type FieldError, invalid, notSupported, required, tooLong } from '@holdfast/machinery';
import type {
  AppArmorProfile,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
} from '../../generated/types.ts';
import { validateRequiredText, validateWord } from '../check.ts';
import { byteLength, unixIdErrors } from '../formats.ts';
import { goPointer, goStruct } from '../go-text.ts';
import { APP_ARMOR_PROFILE_BYTES_MAX } from '../limits.ts';
import { validateDescendingPath } from '../paths.ts';
import { validateWindowsOptions } from './windows.ts';

function validateUnixId(out: FieldError[], path: string, id: number | undefined): void {
  if (id === undefined) return;
  for (const text of unixIdErrors(id)) out.push(invalid(path, id, text));
}

export function validateSecurityContext(
  out: FieldError[],
  path: string,
  context: Readonly<SecurityContext> | undefined,
  hostUsers: boolean,
): void {
  if (context === undefined) return;
  validateUnixId(out, `${path}.runAsUser`, context.runAsUser);
  validateUnixId(out, `${path}.runAsGroup`, context.runAsGroup);
  validateWord(out, `${path}.procMount`, context.procMount, ['Default', 'Unmasked']);
  if (hostUsers && context.procMount === 'Unmasked') {
    out.push(invalid(`${path}.procMount`, context.procMount, '`hostUsers` must be false to use `Unmasked`'));
  }
  validateSeccomp(out, `${path}.seccompProfile`, context.seccompProfile);
  validateEscalation(out, path, context);
  validateWindowsOptions(out, `${path}.windowsOptions`, context.windowsOptions);
  validateAppArmor(out, `${path}.appArmorProfile`, context.appArmorProfile);
}

/** Privileged containers and those with CAP_SYS_ADMIN can escalate whatever the flag says. */
function validateEscalation(out: FieldError[], path: string, context: Readonly<SecurityContext>): void {
  if (context.allowPrivilegeEscalation !== false) return;
  const refuse = (cause: string): void => {
    out.push(
      invalid(path, goSecurityContext(context), `cannot set \`allowPrivilegeEscalation\` to false and ${cause}`),
    );
  };
  if (context.privileged === true) refuse('`privileged` to true');
  for (const capability of context.capabilities?.add ?? []) {
    if (capability === 'CAP_SYS_ADMIN') refuse('`capabilities.Add` CAP_SYS_ADMIN');
  }
}

const goSecurityContext = (context: Readonly<SecurityContext>) =>
  goStruct('core.SecurityContext', {
    Capabilities: goPointer('core.Capabilities', context.capabilities),
    Privileged: goPointer('bool', context.privileged),
    SELinuxOptions: goPointer('core.SELinuxOptions', context.seLinuxOptions),
    WindowsOptions: goPointer('core.WindowsSecurityContextOptions', context.windowsOptions),
    RunAsUser: goPointer('int64', context.runAsUser),
    RunAsGroup: goPointer('int64', context.runAsGroup),
    RunAsNonRoot: goPointer('bool', context.runAsNonRoot),
    ReadOnlyRootFilesystem: goPointer('bool', context.readOnlyRootFilesystem),
    AllowPrivilegeEscalation: goPointer('bool', context.allowPrivilegeEscalation),
    ProcMount: goPointer('core.ProcMountType', context.procMount),
    SeccompProfile: goPointer('core.SeccompProfile', context.seccompProfile),
    AppArmorProfile: goPointer('core.AppArmorProfile', context.appArmorProfile),
  });

const PROFILE_TYPES = ['Localhost', 'RuntimeDefault', 'Unconfined'];

function validateSeccomp(out: FieldError[], path: string, profile: Readonly<SeccompProfile> | undefined): void {
  if (profile === undefined) return;
  const type = profile.type ?? '';
  if (type === '') out.push(required(`${path}.type`, 'type is required when seccompProfile is set'));
  else validateWord(out, `${path}.type`, type, PROFILE_TYPES);
  const file = profile.localhostProfile;
  const at = `${path}.localhostProfile`;
  if (type === 'Localhost') {
    if (file === undefined) out.push(required(at, 'must be set when seccomp type is Localhost'));
    else validateDescendingPath(out, at, file);
  } else if (file !== undefined) {
    const shown = goStruct('core.SeccompProfile', {
      Type: JSON.stringify(type),
      LocalhostProfile: goPointer('string', file),
    });
    out.push(invalid(at, shown, 'can only be set when seccomp type is Localhost'));
  }
}

function validateAppArmor(out: FieldError[], path: string, profile: Readonly<AppArmorProfile> | undefined): void {
  if (profile === undefined) return;
  const file = profile.localhostProfile;
  const at = `${path}.localhostProfile`;
  const mustBeSet = required(at, 'must be set when AppArmor type is Localhost');
  switch (profile.type ?? '') {
    case 'Localhost':
      if (file === undefined || file === '') out.push(mustBeSet);
      else if (file.trim() !== file) out.push(invalid(at, file, 'must not be padded with whitespace'));
      if (byteLength(file ?? '') > APP_ARMOR_PROFILE_BYTES_MAX) out.push(tooLong(at, APP_ARMOR_PROFILE_BYTES_MAX));
      break;
    case 'RuntimeDefault':
    case 'Unconfined':
      if (file !== undefined) out.push(invalid(at, file, 'can only be set when AppArmor type is Localhost'));
      break;
    case '':
      out.push(required(`${path}.type`, 'type is required when appArmorProfile is set'));
      break;
    default:
      out.push(notSupported(`${path}.type`, profile.type, PROFILE_TYPES));
  }
}

export function validatePodSecurityContext(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  const context = spec.securityContext;
  if (context === undefined) return;
  validateUnixId(out, `${path}.fsGroup`, context.fsGroup);
  validateUnixId(out, `${path}.runAsUser`, context.runAsUser);
  validateUnixId(out, `${path}.runAsGroup`, context.runAsGroup);
  for (const [i, id] of (context.supplementalGroups ?? []).entries()) {
    validateUnixId(out, `${path}.supplementalGroups[${i}]`, id);
  }
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = 'ShareProcessNamespace and HostPID cannot both be enabled';
    out.push(invalid(`${path}.shareProcessNamespace`, true, detail));
  }
  validateSysctls(out, `${path}.sysctls`, context, spec);
  validateWord(out, `${path}.fsGroupChangePolicy`, context.fsGroupChangePolicy, ['Always', 'OnRootMismatch']);
  validateSeccomp(out, `${path}.seccompProfile`, context.seccompProfile);
  validateWindowsOptions(out, `${path}.windowsOptions`, context.windowsOptions);
  validateAppArmor(out, `${path}.appArmorProfile`, context.appArmorProfile);
  validateWord(out, `${path}.supplementalGroupsPolicy`, context.supplementalGroupsPolicy, ['Merge', 'Strict']);
  validateWord(out, `${path}.seLinuxChangePolicy`, context.seLinuxChangePolicy, ['Recursive']);
}

const SYSCTL_SEGMENT = '[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SYSCTL_PATTERN = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`;
const SYSCTL_NAME = new RegExp(SYSCTL_PATTERN);
const SYSCTL_CHARS_MAX = 253;

function validateSysctls(
  out: FieldError[],
  path: string,
  context: Readonly<PodSecurityContext>,
  spec: Readonly<PodSpec>,
): void {
  const names = new Set<string>();
  for (const [i, sysctl] of (context.sysctls ?? []).entries()) {
    const name = sysctl.name ?? '';
    const at = `${path}[${i}].name`;
    if (validateRequiredText(out, at, name)) {
      if (name.length > SYSCTL_CHARS_MAX || !SYSCTL_NAME.test(name)) {
        out.push(
          invalid(at, name, `must have at most ${SYSCTL_CHARS_MAX} characters and match regex ${SYSCTL_PATTERN}`),
        );
      } else if (names.has(name)) out.push(duplicate(at, name));
    }
    validateHostSysctl(out, at, name, spec);
    names.add(name);
  }
}

/** A sysctl of a namespace that the pod shares with the host would change the host. */
function validateHostSysctl(out: FieldError[], path: string, name: string, spec: Readonly<PodSpec>): void {
  const key = name.replaceAll('/', '.');
  if (spec.hostNetwork === true && key.startsWith('net.')) {
    out.push(invalid(path, name, "may not be specified when 'hostNetwork' is true"));
  }
  if (spec.hostIPC === true && /^(kernel\.(sem$|shm|msg)|fs\.mqueue\.)/.test(key)) {
    out.push(invalid(path, name, "may not be specified when 'hostIPC' is true"));
  }
}
