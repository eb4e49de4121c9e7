import { ownValue } from '@holdfast/machinery';
import type {
  Affinity,
  Container,
  EphemeralContainer,
  ObjectMeta,
  PodAffinity,
  PodSpec,
  PodTemplateSpec,
  Volume,
  VolumeProjection,
} from '../../generated/types.ts';
import { SECCOMP_POD_ANNOTATION } from '../../semantics/well-known.ts';
import { repeats } from '../check.ts';
import { claimSpecWarnings } from '../claim-warnings.ts';
import { warnOfFraction } from '../fractions.ts';
import { deprecatedNodeLabel, nodeSelectorTermWarnings } from '../node-labels.ts';
import { portWarnings } from './port-warnings.ts';
import { allContainers } from './windows.ts';

export function podTemplateWarnings(template: Readonly<PodTemplateSpec>, path = 'spec.template'): readonly string[] {
  const out: string[] = [];
  podSpecWarnings(out, path, template);
  return out;
}

interface PodLike {
  readonly metadata: Readonly<ObjectMeta>;
  readonly spec: Readonly<PodSpec>;
}

/** Warns of values that are valid but rarely wanted, in the order of Kubernetes. `base` is '' for a pod. */
export function podSpecWarnings(out: string[], base: string, pod: PodLike): void {
  const { spec } = pod;
  const path = base === '' ? 'spec' : `${base}.spec`;
  const metadata = base === '' ? 'metadata' : `${base}.metadata`;
  warnOfNodeLabels(out, path, spec);
  warnOfAnnotations(out, metadata, pod.metadata);
  for (const [i, volume] of (spec.volumes ?? []).entries()) warnOfVolume(out, `${path}.volumes[${i}]`, volume);
  warnOfTokenPaths(out, path, spec);
  warnOfRepeated(out, path, spec);
  for (const name of BYTES) warnOfFraction(out, `${path}.overhead[${name}]`, ownValue(spec.overhead, name));
  warnOfSeccomp(out, metadata, pod);
  const isTemplate = base !== '';
  for (const { container, path: at } of allContainers(spec, path)) {
    warnOfContainerAnnotations(out, metadata, { pod, container, isTemplate });
    warnOfContainer(out, at, container);
  }
  portWarnings(out, path, spec);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    out.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    warnOfEmptySelectors(out, `${path}.affinity.${kind}`, spec.affinity?.[kind]);
  }
}

const BYTES = ['memory', 'ephemeral-storage'] as const;

function warnOfNodeLabels(out: string[], path: string, spec: Readonly<PodSpec>): void {
  for (const key of Object.keys(spec.nodeSelector ?? {})) {
    const deprecated = deprecatedNodeLabel(key);
    if (deprecated !== undefined) out.push(`${path}.nodeSelector[${key}]: ${deprecated}`);
  }
  warnOfNodeAffinity(out, `${path}.affinity.nodeAffinity`, spec.affinity?.nodeAffinity);
  for (const [i, { topologyKey = '', labelSelector }] of (spec.topologySpreadConstraints ?? []).entries()) {
    const at = `${path}.topologySpreadConstraints[${i}]`;
    const deprecated = deprecatedNodeLabel(topologyKey);
    if (deprecated !== undefined) out.push(`${at}.topologyKey: ${topologyKey} is ${deprecated}`);
    if (labelSelector === undefined) out.push(`${at}.labelSelector: ${NO_SELECTOR}`);
  }
}

const NO_SELECTOR = 'a null labelSelector results in matching no pod';

function warnOfNodeAffinity(out: string[], path: string, affinity: Affinity['nodeAffinity']): void {
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const [i, term] of (required?.nodeSelectorTerms ?? []).entries()) {
    const at = `${path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${i}]`;
    nodeSelectorTermWarnings(out, at, term);
  }
  const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution;
  for (const [i, { preference }] of (preferred ?? []).entries()) {
    const at = `${path}.preferredDuringSchedulingIgnoredDuringExecution[${i}].preference`;
    nodeSelectorTermWarnings(out, at, preference);
  }
}

function warnOfEmptySelectors(out: string[], path: string, affinity: Readonly<PodAffinity> | undefined): void {
  for (const [i, term] of (affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    if (term.labelSelector !== undefined) continue;
    out.push(`${path}.requiredDuringSchedulingIgnoredDuringExecution[${i}].labelSelector: ${NO_SELECTOR}`);
  }
  for (const [i, term] of (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    // Templates of StatefulSets are not validated before they cause warnings.
    if (term.podAffinityTerm?.labelSelector !== undefined) continue;
    out.push(
      `${path}.preferredDuringSchedulingIgnoredDuringExecution[${i}].podAffinityTerm.labelSelector: ${NO_SELECTOR}`,
    );
  }
}

const DEPRECATED_ANNOTATIONS: readonly (readonly [key: string, text: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
];
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const USE_SECCOMP_FIELD = 'non-functional in v1.27+; use the "seccompProfile" field instead';

function warnOfAnnotations(out: string[], path: string, { annotations }: Readonly<ObjectMeta>): void {
  for (const [key, text] of DEPRECATED_ANNOTATIONS) {
    if (ownValue(annotations, key) !== undefined) out.push(`${path}.annotations[${key}]: ${text}`);
  }
}

function warnOfSeccomp(out: string[], path: string, { metadata, spec }: PodLike): void {
  if (
    metadata.annotations?.[SECCOMP_POD_ANNOTATION] === undefined ||
    spec.securityContext?.seccompProfile !== undefined
  )
    return;
  out.push(`${path}.annotations[${SECCOMP_POD_ANNOTATION}]: ${USE_SECCOMP_FIELD}`);
}

interface AnnotatedContainer {
  readonly pod: PodLike;
  readonly container: Readonly<Container | EphemeralContainer>;
  readonly isTemplate: boolean;
}

function warnOfContainerAnnotations(
  out: string[],
  path: string,
  { pod, container, isTemplate }: AnnotatedContainer,
): void {
  const annotations = pod.metadata.annotations;
  if (annotations === undefined) return;
  const { seccompProfile, appArmorProfile } = container.securityContext ?? {};
  const seccomp = SECCOMP_CONTAINER + container.name;
  if (ownValue(annotations, seccomp) !== undefined && seccompProfile === undefined) {
    out.push(`${path}.annotations[${seccomp}]: ${USE_SECCOMP_FIELD}`);
  }
  const armor = APP_ARMOR + container.name;
  const hasField = appArmorProfile !== undefined || pod.spec.securityContext?.appArmorProfile !== undefined;
  if (isTemplate && !hasField && ownValue(annotations, armor) !== undefined) {
    out.push(`${path}.annotations[${armor}]: deprecated since v1.30; use the "appArmorProfile" field instead`);
  }
}

/** Volume sources that are deprecated; some have their Go names. */
const DEPRECATED_VOLUMES: readonly (readonly [key: keyof Volume, name: string, text: string])[] = [
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'gitRepo', 'deprecated in v1.11'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

function warnOfVolume(out: string[], path: string, volume: Readonly<Volume>): void {
  for (const [key, name, text] of DEPRECATED_VOLUMES) {
    if (volume[key] !== undefined) out.push(`${path}.${name}: ${text}`);
  }
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template !== undefined) claimSpecWarnings(out, `${path}.ephemeral.volumeClaimTemplate.spec`, template.spec);
}

/** Warns of volumes that hide a token or are hidden by one. */
function warnOfTokenPaths(out: string[], path: string, spec: Readonly<PodSpec>): void {
  const sourcesOf = (volume: Readonly<Volume>): readonly VolumeProjection[] => volume.projected?.sources ?? [];
  const volumes = spec.volumes ?? [];
  const tokens = new Set(
    volumes.flatMap(sourcesOf).flatMap(({ serviceAccountToken }) => serviceAccountToken?.path ?? []),
  );
  if (tokens.size === 0) return;
  for (const [i, volume] of volumes.entries()) {
    const at = `${path}.volumes[${i}].projected.sources`;
    for (const source of sourcesOf(volume)) {
      const lists = { configMap: source.configMap, secrets: source.secret, downwardAPI: source.downwardAPI };
      for (const [name, list] of Object.entries(lists)) {
        for (const [j, item] of (list?.items ?? []).entries()) {
          if (!tokens.has(item.path)) continue;
          out.push(`${at}.${name}[${j}]: has duplicated path with ServiceAccountToken ${JSON.stringify(item.path)}`);
        }
      }
    }
  }
}

function warnOfRepeated(out: string[], path: string, spec: Readonly<PodSpec>): void {
  const addresses = new Set<string>();
  for (const [i, { ip = '' }] of (spec.hostAliases ?? []).entries()) {
    if (addresses.has(ip)) out.push(`${path}.hostAliases[${i}].ip: duplicate ip ${JSON.stringify(ip)}`);
    addresses.add(ip);
  }
  const secrets = (spec.imagePullSecrets ?? []).map(({ name = '' }) => name);
  if (secrets.length === 0) return;
  const isRepeated = repeats<string>();
  for (const [i, name] of secrets.entries()) {
    if (isRepeated(name)) {
      out.push(`${path}.imagePullSecrets[${i}].name: duplicate name ${JSON.stringify(name)}`);
    }
  }
  for (const [i, name] of secrets.entries()) {
    if (name === '') out.push(`${path}.imagePullSecrets[${i}].name: invalid empty name ""`);
  }
}

function warnOfContainer(out: string[], path: string, container: Readonly<Container | EphemeralContainer>): void {
  for (const name of BYTES) {
    for (const list of ['limits', 'requests'] as const) {
      warnOfFraction(out, `${path}.resources.${list}[${name}]`, container.resources[list]?.[name]);
    }
  }
  const names = new Set<string>();
  for (const [i, { name, value = '', valueFrom }] of (container.env ?? []).entries()) {
    // A value that refers to the previous one is intended.
    const reference = `$(${name})`;
    const hides = valueFrom !== undefined || value === reference || !value.includes(reference);
    if (names.has(name) && hides) {
      out.push(
        `${path}.env[${i}]: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`,
      );
    }
    names.add(name);
  }
}
