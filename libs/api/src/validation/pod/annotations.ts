import { type FieldError, forbidden, invalid } from '@holdfast/machinery';
import type { AppArmorProfile, ObjectMeta, PodSpec, SeccompProfile, Toleration } from '../../generated/types.ts';
import { SELF_FENCING } from '../../semantics/exclusive.ts';
import { DELETION_COST_ANNOTATION, MIRROR_ANNOTATION, SECCOMP_POD_ANNOTATION } from '../../semantics/well-known.ts';
import { goJsonProblem, textsOfItems } from '../go-json.ts';
import { validateDescendingPath } from '../paths.ts';
import { validateTolerations } from './tolerations.ts';
import { allContainers } from './windows.ts';

const TOLERATIONS = 'scheduler.alpha.kubernetes.io/tolerations';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';
const APP_ARMOR = 'container.apparmor.security.beta.kubernetes.io/';
const LOCALHOST = 'localhost/';

type Annotations = Readonly<Record<string, string>>;

/** Annotations with a meaning for the pod, which must be valid. */
export function validatePodAnnotations(
  out: FieldError[],
  path: string,
  annotations: Annotations | undefined,
  spec: Readonly<PodSpec>,
): void {
  if (annotations === undefined) return;
  if (annotations[MIRROR_ANNOTATION] !== undefined && !spec.nodeName) {
    const detail = 'must set spec.nodeName if mirror pod annotation is set';
    out.push(invalid(`${path}[${MIRROR_ANNOTATION}]`, annotations[MIRROR_ANNOTATION], detail));
  }
  validateTolerationsText(out, path, annotations[TOLERATIONS] ?? '');
  const cost = annotations[DELETION_COST_ANNOTATION];
  if (cost !== undefined && !isInt32Text(cost)) {
    out.push(invalid(`${path}[${DELETION_COST_ANNOTATION}]`, cost, 'must be a 32bit integer'));
  }
  const podProfile = annotations[SECCOMP_POD_ANNOTATION];
  if (podProfile !== undefined) validateSeccompText(out, `${path}.${SECCOMP_POD_ANNOTATION}`, podProfile);
  for (const [key, value] of Object.entries(annotations)) {
    if (key.startsWith(SECCOMP_CONTAINER)) validateSeccompText(out, `${path}.${key}`, value);
  }
  let names: ReadonlySet<string> | undefined;
  for (const [key, value] of Object.entries(annotations)) {
    if (!key.startsWith(APP_ARMOR)) continue;
    names ??= new Set(allContainers(spec, '').map(({ container }) => container.name));
    validateAppArmorText(out, `${path}[${key}]`, { key, value, names });
  }
}

/** Tolerations before they became a field. */
function validateTolerationsText(out: FieldError[], path: string, text: string): void {
  if (text === '') return;
  const problem = goJsonProblem(text, '[]core.Toleration');
  if (problem !== undefined) {
    out.push(invalid(path, TOLERATIONS, problem));
    return;
  }
  validateTolerations(out, `${path}.${TOLERATIONS}`, textsOfItems(text) as readonly Toleration[]);
}

function isInt32Text(text: string): boolean {
  return /^(0|-\d+|[1-9]\d*)$/.test(text) && Math.abs(Number(text)) <= 2 ** 31 - (text.startsWith('-') ? 0 : 1);
}

function validateSeccompText(out: FieldError[], path: string, profile: string): void {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(profile)) return;
  if (profile.startsWith(LOCALHOST)) validateDescendingPath(out, path, profile.slice(LOCALHOST.length));
  else out.push(invalid(path, profile, 'must be a valid seccomp profile'));
}

function validateAppArmorText(
  out: FieldError[],
  path: string,
  { key, value, names }: { readonly key: string; readonly value: string; readonly names: ReadonlySet<string> },
): void {
  const name = key.slice(APP_ARMOR.length);
  if (!names.has(name)) {
    out.push(invalid(path, name, 'container not found'));
  }
  if (!['', 'runtime/default', 'unconfined'].includes(value) && !value.startsWith(LOCALHOST)) {
    out.push(invalid(path, value, `invalid AppArmor profile name: ${JSON.stringify(value)}`));
  }
}

export function validatePodAnnotationUpdate(
  out: FieldError[],
  path: string,
  annotations: Annotations = {},
  old: Annotations = {},
): void {
  if (annotations[SELF_FENCING] !== old[SELF_FENCING]) {
    const detail = 'may not change: the node and the control plane rely on it; delete the pod and create it anew';
    out.push(forbidden(`${path}[${SELF_FENCING}]`, detail));
  }
  for (const [key, value] of Object.entries(old)) {
    if (annotations[key] === value) continue;
    if (key.startsWith(APP_ARMOR)) {
      out.push(forbidden(`${path}[${key}]`, 'may not remove or update AppArmor annotations'));
    }
    if (key === MIRROR_ANNOTATION)
      out.push(forbidden(`${path}[${key}]`, 'may not remove or update mirror pod annotation'));
  }
  for (const key of Object.keys(annotations)) {
    if (old[key] !== undefined) continue;
    if (key.startsWith(APP_ARMOR)) out.push(forbidden(`${path}[${key}]`, 'may not add AppArmor annotations'));
    if (key === MIRROR_ANNOTATION) out.push(forbidden(`${path}[${key}]`, 'may not add mirror pod annotation'));
  }
}

/** A profile given in both forms must be the same. */
export function validateProfilesMatchAnnotations(
  out: FieldError[],
  path: string,
  meta: Readonly<ObjectMeta>,
  spec: Readonly<PodSpec>,
): void {
  const annotations = meta.annotations;
  if (annotations === undefined) return;
  const { securityContext } = spec;
  const containers = allContainers(spec, path);
  const at = `${path}.securityContext.seccompProfile`;
  validateMatch(out, at, annotations[SECCOMP_POD_ANNOTATION], {
    profile: securityContext?.seccompProfile,
    word: 'seccomp',
  });
  for (const { container, path: containerPath } of containers) {
    const own = { profile: container.securityContext?.seccompProfile, word: 'seccomp' };
    const annotation = annotations[`${SECCOMP_CONTAINER}${container.name}`];
    validateMatch(out, `${containerPath}.securityContext.seccompProfile`, annotation, own);
  }
  if (spec.os?.name === 'windows') return;
  for (const { container, path: containerPath } of containers) {
    const profile = container.securityContext?.appArmorProfile ?? securityContext?.appArmorProfile;
    const annotation = annotations[`${APP_ARMOR}${container.name}`];
    validateMatch(out, `${containerPath}.securityContext.appArmorProfile`, annotation, { profile, word: 'apparmor' });
  }
}

function validateMatch(
  out: FieldError[],
  path: string,
  annotation: string | undefined,
  { profile, word }: { readonly profile: SeccompProfile | AppArmorProfile | undefined; readonly word: string },
): void {
  if (annotation === undefined || profile === undefined) return;
  const wrongType = forbidden(`${path}.type`, `${word} type in annotation and field must match`);
  if (profile.type === 'Unconfined' && annotation !== 'unconfined') out.push(wrongType);
  if (profile.type === 'RuntimeDefault' && !isRuntimeDefault(annotation, word)) out.push(wrongType);
  if (profile.type !== 'Localhost') return;
  if (!annotation.startsWith(LOCALHOST)) out.push(wrongType);
  else if (annotation.slice(LOCALHOST.length) !== profile.localhostProfile) {
    out.push(forbidden(`${path}.localhostProfile`, `${word} profile in annotation and field must match`));
  }
}

const isRuntimeDefault = (annotation: string, word: string): boolean =>
  annotation === 'runtime/default' || (word === 'seccomp' && annotation === 'docker/default');
