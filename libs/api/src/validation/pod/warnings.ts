import type {
  Container,
  EphemeralContainer,
  ObjectMeta,
  PodSpec,
  PodTemplateSpec,
  Volume,
} from '../../generated/types.ts';
import { allContainers } from './windows.ts';

export function podTemplateWarnings(
  template: Readonly<PodTemplateSpec>,
  old: Readonly<PodTemplateSpec> | undefined,
): readonly string[] {
  const out: string[] = [];
  podSpecWarnings(out, 'spec.template', template, old);
  return out;
}

interface PodLike {
  readonly metadata: Readonly<ObjectMeta>;
  readonly spec: Readonly<PodSpec>;
}

/** What is accepted and yet hardly what anybody wants. Said once: not again while the old object says it too. */
export function podSpecWarnings(out: string[], base: string, pod: PodLike, old: PodLike | undefined): void {
  const path = base === '' ? 'spec' : `${base}.spec`;
  warnOfDeprecatedLabels(out, path, pod.spec, old?.spec);
  warnOfDeprecatedAnnotations(out, base === '' ? 'metadata' : `${base}.metadata`, pod);
  for (const [i, volume] of (pod.spec.volumes ?? []).entries()) warnOfVolume(out, `${path}.volumes[${i}]`, volume);
  for (const { container, path: at } of allContainers(pod.spec, path)) warnOfContainer(out, at, container);
  warnOfTermination(out, path, pod.spec, old?.spec);
}

const RENAMED_LABELS: Readonly<Record<string, string>> = {
  'beta.kubernetes.io/arch': 'kubernetes.io/arch',
  'beta.kubernetes.io/os': 'kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'beta.kubernetes.io/instance-type': 'node.kubernetes.io/instance-type',
};

function warnOfDeprecatedLabels(
  out: string[],
  path: string,
  spec: Readonly<PodSpec>,
  old: Readonly<PodSpec> | undefined,
): void {
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const renamed = RENAMED_LABELS[key];
    if (renamed === undefined || old?.nodeSelector?.[key] !== undefined) continue;
    out.push(`${path}.nodeSelector[${key}]: deprecated since v1.14; use "${renamed}" instead`);
  }
  for (const [i, { topologyKey }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const renamed = RENAMED_LABELS[topologyKey ?? ''];
    if (renamed === undefined) continue;
    out.push(
      `${path}.topologySpreadConstraints[${i}].topologyKey: ${topologyKey} is deprecated since v1.17; use "${renamed}" instead`,
    );
  }
}

const DEPRECATED_ANNOTATIONS: readonly (readonly [key: string, text: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['seccomp.security.alpha.kubernetes.io/pod', 'non-functional in v1.27+; use the "seccompProfile" field instead'],
];
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';

function warnOfDeprecatedAnnotations(out: string[], path: string, { metadata, spec }: PodLike): void {
  const annotations = metadata.annotations;
  if (annotations === undefined) return;
  for (const [key, text] of DEPRECATED_ANNOTATIONS) {
    if (annotations[key] !== undefined) out.push(`${path}.annotations[${key}]: ${text}`);
  }
  for (const { container } of allContainers(spec, '')) {
    const { seccompProfile, appArmorProfile } = container.securityContext ?? {};
    const seccomp = SECCOMP_CONTAINER + container.name;
    if (annotations[seccomp] !== undefined && seccompProfile === undefined) {
      out.push(`${path}.annotations[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`);
    }
    const armor = APP_ARMOR + container.name;
    if (annotations[armor] !== undefined && appArmorProfile === undefined) {
      out.push(`${path}.annotations[${armor}]: deprecated since v1.30; use the "appArmorProfile" field instead`);
    }
  }
}

const DEPRECATED_VOLUMES: Readonly<Partial<Record<keyof Volume, string>>> = {
  gitRepo: 'deprecated in v1.11',
  scaleIO: 'deprecated in v1.16, non-functional in v1.22+',
  flocker: 'deprecated in v1.22, non-functional in v1.25+',
  storageos: 'deprecated in v1.22, non-functional in v1.25+',
  quobyte: 'deprecated in v1.22, non-functional in v1.25+',
  photonPersistentDisk: 'deprecated in v1.11, non-functional in v1.16+',
  glusterfs: 'deprecated in v1.25, non-functional in v1.26+',
  cephfs: 'deprecated in v1.28, non-functional in v1.31+',
  rbd: 'deprecated in v1.28, non-functional in v1.31+',
};

function warnOfVolume(out: string[], path: string, volume: Readonly<Volume>): void {
  for (const [key, text] of Object.entries(DEPRECATED_VOLUMES)) {
    if (Object.hasOwn(volume, key)) out.push(`${path}.${key}: ${text}`);
  }
}

function warnOfContainer(out: string[], path: string, container: Readonly<Container | EphemeralContainer>): void {
  const names = new Set<string>();
  for (const [i, { name }] of (container.env ?? []).entries()) {
    if (names.has(name))
      out.push(`${path}.env[${i}]: hides previous definition of "${name}", which may be dropped when using apply`);
    names.add(name);
  }
  for (const list of ['limits', 'requests'] as const) {
    for (const name of ['memory', 'ephemeral-storage']) {
      const amount = container.resources[list]?.[name];
      if (amount?.endsWith('m') !== true) continue;
      out.push(`${path}.resources.${list}[${name}]: fractional byte value "${amount}" is invalid, must be an integer`);
    }
  }
  warnOfPorts(out, path, container.ports ?? []);
}

function warnOfPorts(out: string[], path: string, ports: NonNullable<Container['ports']>): void {
  const seen: string[] = [];
  for (const [i, { containerPort, protocol, hostPort, hostIP }] of ports.entries()) {
    const key = `${containerPort}/${protocol}/${hostPort ?? 0}/${hostIP ?? ''}`;
    const first = seen.indexOf(key);
    if (first >= 0) out.push(`${path}.ports[${i}]: duplicate port definition with ${path}.ports[${first}]`);
    seen.push(key);
  }
}

function warnOfTermination(
  out: string[],
  path: string,
  spec: Readonly<PodSpec>,
  old: Readonly<PodSpec> | undefined,
): void {
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    out.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
  const hadEmpty = old?.imagePullSecrets?.some(({ name }) => !name) === true;
  for (const [i, { name }] of hadEmpty ? [] : (spec.imagePullSecrets ?? []).entries()) {
    if (!name) out.push(`${path}.imagePullSecrets[${i}].name: must not be empty`);
  }
}
