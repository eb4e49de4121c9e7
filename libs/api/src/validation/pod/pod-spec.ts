import { duplicate, type FieldError, forbidden, invalid, notSupported, required } from '@holdfast/machinery';
import type { PodSpec } from '../../generated/types.ts';
import {
  validateDnsLabel,
  validateDnsSubdomain,
  validateIp,
  validateQualifiedName,
  validateRequiredWord,
} from '../check.ts';
import { rangeText } from '../formats.ts';
import { validateLabels } from '../labels.ts';
import { validateContainerResources } from '../quantities.ts';
import { validateAffinity } from './affinity.ts';
import {
  type ContainerRules,
  validateContainers,
  validateEphemeralContainers,
  validateInitContainers,
} from './containers.ts';
import { validateDnsConfig } from './dns.ts';
import { validatePodSecurityContext } from './security-context.ts';
import { validateTolerations } from './tolerations.ts';
import { validateTopologySpread } from './topology-spread.ts';
import { validateVolumes } from './volumes.ts';
import { validateForLinux, validateForWindows, validateHostProcess } from './windows.ts';

export interface PodSpecRules {
  /** A pod, not a template. */
  readonly isPod: boolean;
  /** Names the claims of ephemeral volumes; unknown in templates. */
  readonly podName?: string | undefined;
}

const TEMPLATE: PodSpecRules = { isPod: false };

export function validatePodSpec(out: FieldError[], path: string, spec: Readonly<PodSpec>, rules = TEMPLATE): void {
  const containerRules: ContainerRules = {
    volumes: validateVolumes(out, `${path}.volumes`, spec.volumes ?? [], rules.podName),
    graceSeconds: spec.terminationGracePeriodSeconds ?? 0,
    restartPolicy: spec.restartPolicy ?? '',
    hostUsers: spec.hostUsers !== false,
  };
  validateContainers(out, `${path}.containers`, spec.containers, containerRules);
  validateInitContainers(out, `${path}.initContainers`, spec, containerRules);
  validateEphemeralContainers(out, `${path}.ephemeralContainers`, spec, containerRules);
  validateHostNetworkPorts(out, `${path}.containers`, spec, rules.isPod);
  validatePolicies(out, path, spec);
  validateLabels(out, `${path}.nodeSelector`, spec.nodeSelector);
  validatePodSecurityContext(out, `${path}.securityContext`, spec);
  validateAffinity(out, `${path}.affinity`, spec.affinity);
  validateDnsConfig(out, `${path}.dnsConfig`, spec);
  validateGates(out, path, spec);
  validateTopologySpread(out, `${path}.topologySpreadConstraints`, spec.topologySpreadConstraints ?? []);
  validateHostProcess(out, path, spec);
  validateHostUsers(out, path, spec);
  validateNames(out, path, spec);
  validateScheduling(out, path, spec);
  validateOs(out, path, spec);
}

/** In the host network a container port must equal its host port. */
function validateHostNetworkPorts(out: FieldError[], path: string, spec: Readonly<PodSpec>, isPod: boolean): void {
  if (spec.hostNetwork !== true) return;
  for (const [i, container] of spec.containers.entries()) {
    for (const [j, { hostPort = 0, containerPort = 0 }] of (container.ports ?? []).entries()) {
      if ((isPod || hostPort !== 0) && hostPort !== containerPort) {
        const detail = 'must match `containerPort` when `hostNetwork` is true';
        out.push(invalid(`${path}[${i}].ports[${j}].hostPort`, hostPort, detail));
      }
    }
  }
}

function validatePolicies(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  validateRequiredWord(out, `${path}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']);
  validateRequiredWord(out, `${path}.dnsPolicy`, spec.dnsPolicy, [
    'ClusterFirstWithHostNet',
    'ClusterFirst',
    'Default',
    'None',
  ]);
}

function validateGates(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  for (const [i, gate] of (spec.readinessGates ?? []).entries()) {
    validateQualifiedName(out, `${path}.readinessGates[${i}].conditionType`, gate.conditionType ?? '');
  }
  const seen = new Set<string>();
  for (const [i, { name = '' }] of (spec.schedulingGates ?? []).entries()) {
    const at = `${path}.schedulingGates[${i}]`;
    validateQualifiedName(out, at, name);
    if (seen.has(name)) out.push(duplicate(at, name));
    seen.add(name);
  }
}

function validateHostUsers(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  if (spec.hostUsers !== false) return;
  const text = 'when `pod.Spec.HostUsers` is false';
  if (spec.hostNetwork === true) out.push(forbidden(`${path}.hostNetwork`, text));
  if (spec.hostPID === true) out.push(forbidden(`${path}.HostPID`, text));
  if (spec.hostIPC === true) out.push(forbidden(`${path}.HostIPC`, text));
}

const DEADLINE_SECONDS_MAX = 2_147_483_647;

function validateNames(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  if (spec.serviceAccountName) validateDnsSubdomain(out, `${path}.serviceAccountName`, spec.serviceAccountName);
  if (spec.nodeName) validateDnsSubdomain(out, `${path}.nodeName`, spec.nodeName);
  const deadline = spec.activeDeadlineSeconds;
  if (deadline !== undefined && (deadline < 1 || deadline > DEADLINE_SECONDS_MAX)) {
    out.push(invalid(`${path}.activeDeadlineSeconds`, deadline, rangeText(1, DEADLINE_SECONDS_MAX)));
  }
  if (spec.hostname) validateDnsLabel(out, `${path}.hostname`, spec.hostname);
  if (spec.subdomain) validateDnsLabel(out, `${path}.subdomain`, spec.subdomain);
}

function validateScheduling(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  validateTolerations(out, `${path}.tolerations`, spec.tolerations ?? []);
  for (const [i, alias] of (spec.hostAliases ?? []).entries()) {
    validateIp(out, `${path}.hostAliases[${i}].ip`, alias.ip ?? '');
    for (const [j, name] of (alias.hostnames ?? []).entries()) {
      validateDnsSubdomain(out, `${path}.hostAliases[${i}].hostnames[${j}]`, name);
    }
  }
  if (spec.priorityClassName) validateDnsSubdomain(out, `${path}.priorityClassName`, spec.priorityClassName);
  if (spec.runtimeClassName !== undefined) {
    validateDnsSubdomain(out, `${path}.runtimeClassName`, spec.runtimeClassName);
  }
  if (spec.preemptionPolicy !== undefined) {
    validateRequiredWord(out, `${path}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']);
  }
  if (spec.overhead !== undefined) validateContainerResources(out, `${path}.overhead`, { limits: spec.overhead });
}

function validateOs(out: FieldError[], path: string, spec: Readonly<PodSpec>): void {
  if (spec.os === undefined) return;
  switch (spec.os.name ?? '') {
    case '':
      out.push(required(`${path}.os.name`, 'cannot be empty'));
      break;
    case 'linux':
      validateForLinux(out, path, spec);
      break;
    case 'windows':
      validateForWindows(out, path, spec);
      break;
    default:
      out.push(notSupported(`${path}.os`, spec.os.name, ['linux', 'windows']));
  }
}
