import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notFoundValue,
  notSupported,
  required,
} from '@holdfast/machinery';
import type { Container, EphemeralContainer, PodSpec } from '../../generated/types.ts';
import { validateDnsLabel, validateRequiredText, validateRequiredWord } from '../check.ts';
import { validateContainerResources } from '../quantities.ts';
import { validateContainerPorts, validateHostPortsUnique } from './container-ports.ts';
import { validateEnvironment, validateEnvironmentSources } from './environment.ts';
import { PROBES, validateLifecycle, validateProbe } from './handlers.ts';
import { validateVolumeDevices, validateVolumeMounts } from './mounts.ts';
import { validateResizePolicy } from './resize-policy.ts';
import { validateSecurityContext } from './security-context.ts';
import type { Volumes } from './volumes.ts';

export interface ContainerRules {
  readonly volumes: Volumes;
  readonly graceSeconds: number;
  readonly restartPolicy: string;
  readonly hostUsers: boolean;
}

/** Checks for containers of every list. */
function validateCommon(
  out: FieldError[],
  path: string,
  container: Readonly<Container | EphemeralContainer>,
  rules: ContainerRules,
): void {
  if (validateRequiredText(out, `${path}.name`, container.name)) validateDnsLabel(out, `${path}.name`, container.name);
  validateRequiredText(out, `${path}.image`, container.image);
  validateRequiredWord(out, `${path}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ]);
  validateContainerPorts(out, `${path}.ports`, container.ports ?? []);
  validateEnvironment(out, `${path}.env`, container.env ?? []);
  validateEnvironmentSources(out, `${path}.envFrom`, container.envFrom ?? []);
  validateVolumeMounts(out, `${path}.volumeMounts`, container, rules.volumes);
  validateVolumeDevices(out, `${path}.volumeDevices`, container, rules.volumes);
  validateRequiredWord(out, `${path}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  validateContainerResources(out, `${path}.resources`, container.resources);
  validateResizePolicy(out, `${path}.resizePolicy`, container.resizePolicy ?? [], rules.restartPolicy);
  validateSecurityContext(out, `${path}.securityContext`, container.securityContext, rules.hostUsers);
}

export function validateContainers(
  out: FieldError[],
  path: string,
  containers: readonly Container[],
  rules: ContainerRules,
): void {
  if (containers.length === 0) {
    out.push(required(path));
    return;
  }
  const names = new Set<string>();
  for (const [i, container] of containers.entries()) {
    const at = `${path}[${i}]`;
    validateCommon(out, at, container, rules);
    const name = container.name ?? '';
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    names.add(name);
    validateLifecycle(out, `${at}.lifecycle`, container.lifecycle, rules.graceSeconds);
    for (const kind of PROBES) validateProbe(out, `${at}.${kind}`, kind, container[kind]);
    if (container.restartPolicy !== undefined) {
      out.push(forbidden(`${at}.restartPolicy`, 'may not be set for non-init containers'));
    }
  }
  validateHostPortsUnique(out, path, containers);
}

const SIDECAR_ONLY = 'may not be set for init containers without restartPolicy=Always';

export function validateInitContainers(
  out: FieldError[],
  path: string,
  spec: Readonly<PodSpec>,
  rules: ContainerRules,
): void {
  const names = new Set(spec.containers.map(({ name }) => name ?? ''));
  for (const [i, container] of (spec.initContainers ?? []).entries()) {
    const at = `${path}[${i}]`;
    validateCommon(out, at, container, rules);
    const { restartPolicy } = container;
    if (restartPolicy !== undefined && restartPolicy !== 'Always') {
      out.push(notSupported(`${at}.restartPolicy`, restartPolicy, ['Always']));
    }
    const name = container.name ?? '';
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    else if (name !== '') names.add(name);
    // Init containers run one after the other, so host ports conflict only within one container.
    validateHostPortsUnique(out, path, [container]);
    if (restartPolicy === 'Always') validateSidecar(out, at, container, rules);
    else validatePlainInit(out, at, container);
    if ((container.resizePolicy ?? []).length > 0 && restartPolicy !== 'Always') {
      out.push(invalid(`${at}.resizePolicy`, container.resizePolicy, 'must not be set for init containers'));
    }
  }
}

function validateSidecar(out: FieldError[], path: string, container: Readonly<Container>, rules: ContainerRules): void {
  validateLifecycle(out, `${path}.lifecycle`, container.lifecycle, rules.graceSeconds);
  for (const kind of PROBES) validateProbe(out, `${path}.${kind}`, kind, container[kind]);
}

function validatePlainInit(out: FieldError[], path: string, container: Readonly<Container>): void {
  for (const key of ['lifecycle', ...PROBES] as const) {
    if (container[key] !== undefined) out.push(forbidden(`${path}.${key}`, SIDECAR_ONLY));
  }
}

/** In the order of the reports. */
const NOT_FOR_EPHEMERAL = [
  'ports',
  'resources',
  'resizePolicy',
  'restartPolicy',
  'livenessProbe',
  'readinessProbe',
  'startupProbe',
  'lifecycle',
] as const;

const EPHEMERAL_TEXT = 'cannot be set for an Ephemeral Container';

export function validateEphemeralContainers(
  out: FieldError[],
  path: string,
  spec: Readonly<PodSpec>,
  rules: ContainerRules,
): void {
  const targets = new Set([...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name ?? ''));
  const names = new Set(targets);
  for (const [i, container] of (spec.ephemeralContainers ?? []).entries()) {
    const at = `${path}[${i}]`;
    validateCommon(out, at, container, rules);
    validateImageWhitespace(out, at, container);
    const name = container.name ?? '';
    if (names.has(name)) out.push(duplicate(`${at}.name`, name));
    names.add(name);
    const target = container.targetContainerName;
    if (target && !targets.has(target)) out.push(notFoundValue(`${at}.targetContainerName`, target));
    validateEphemeralFields(out, at, container);
  }
}

function validateEphemeralFields(out: FieldError[], path: string, container: Readonly<EphemeralContainer>): void {
  for (const key of NOT_FOR_EPHEMERAL) {
    if (isGiven(key, container[key])) out.push(forbidden(`${path}.${key}`, EPHEMERAL_TEXT));
  }
  for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
    if (mount.subPath) out.push(forbidden(`${path}.volumeMounts[${i}].subPath`, EPHEMERAL_TEXT));
    if (mount.subPathExpr) out.push(forbidden(`${path}.volumeMounts[${i}].subPathExpr`, EPHEMERAL_TEXT));
  }
}

/** A field counts even when empty, except resources, which defaulting fills in. */
const isGiven = (key: string, value: object | string | undefined): boolean =>
  value !== undefined && !(key === 'resources' && Object.keys(value).length === 0);

/** Templates may have such an image as a placeholder; pods may not. */
export function validateImageWhitespace(
  out: FieldError[],
  path: string,
  { image = '' }: { readonly image?: string },
): void {
  if (image.trim() !== image) {
    out.push(invalid(`${path}.image`, image, 'must not have leading or trailing whitespace'));
  }
}
