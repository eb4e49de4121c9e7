import { type FieldError, forbidden, invalid, required, semanticEqual } from '@holdfast/machinery';
import type {
  Affinity,
  Container,
  NodeAffinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  Toleration,
} from '../../generated/types.ts';
import { rangeText } from '../../validation/formats.ts';
import { goValue } from '../../validation/go/print.ts';
import { goStringMap } from '../../validation/go-text.ts';
import { validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { validatePodAnnotations, validatePodAnnotationUpdate } from '../../validation/pod/annotations.ts';
import { validateImageWhitespace } from '../../validation/pod/containers.ts';
import { validateTolerations } from '../../validation/pod/tolerations.ts';
import { podSpecDiff } from './spec-diff.ts';
import { validatePod } from './validation.ts';

const CHANGEABLE = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/** Most of an existing pod is immutable: only changes that need no new processes are allowed. */
export function validatePodUpdate(pod: Readonly<Pod>, old: Readonly<Pod>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, pod.metadata, old.metadata);
  validatePod(out, pod);
  const annotationsPath = 'metadata.annotations';
  validatePodAnnotationUpdate(out, annotationsPath, pod.metadata.annotations, old.metadata.annotations);
  validatePodAnnotations(out, annotationsPath, pod.metadata.annotations, pod.spec);
  if (!validateContainers(out, 'spec.containers', pod.spec.containers, old.spec.containers)) return out;
  const inits = [pod.spec.initContainers ?? [], old.spec.initContainers ?? []] as const;
  if (!validateContainers(out, 'spec.initContainers', ...inits)) return out;
  if (!validateDeadline(out, pod.spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds)) return out;
  validateAddedTolerations(out, pod.spec.tolerations ?? [], old.spec.tolerations ?? []);
  validateRemovedGates(out, pod.spec, old.spec);
  validateNothingElse(out, pod.spec, old.spec);
  return out;
}

function validateContainers(
  out: FieldError[],
  path: string,
  containers: readonly Container[],
  old: readonly Container[],
): boolean {
  if (containers.length !== old.length) {
    out.push(forbidden(path, 'pod updates may not add or remove containers'));
    return false;
  }
  for (const [i, container] of containers.entries()) {
    if (!container.image) out.push(required(`${path}[${i}].image`));
    validateImageWhitespace(out, `${path}[${i}]`, container);
  }
  return true;
}

const DEADLINE_SECONDS_MAX = 2_147_483_647;

/** A deadline may be set and shortened, never removed or extended. */
function validateDeadline(out: FieldError[], seconds: number | undefined, old: number | undefined): boolean {
  const path = 'spec.activeDeadlineSeconds';
  if (seconds === undefined) {
    if (old !== undefined) {
      out.push(invalid(path, undefined, 'must not update from a positive integer to nil value'));
    }
    return true;
  }
  if (seconds < 0 || seconds > DEADLINE_SECONDS_MAX) {
    out.push(invalid(path, seconds, rangeText(0, DEADLINE_SECONDS_MAX)));
    return false;
  }
  if (old === undefined || seconds <= old) return true;
  out.push(invalid(path, seconds, 'must be less than or equal to previous value'));
  return false;
}

function validateAddedTolerations(
  out: FieldError[],
  tolerations: readonly Toleration[],
  old: readonly Toleration[],
): void {
  const path = 'spec.tolerations';
  const withoutSeconds = ({ key = '', operator = '', value = '', effect = '' }: Readonly<Toleration>): string =>
    JSON.stringify([key, operator, value, effect]);
  const kept = new Set(tolerations.map(withoutSeconds));
  if (!old.every((toleration) => kept.has(withoutSeconds(toleration)))) {
    out.push(forbidden(path, 'existing toleration can not be modified except its tolerationSeconds'));
    return;
  }
  validateTolerations(out, path, tolerations);
}

function validateRemovedGates(out: FieldError[], spec: Readonly<PodSpec>, old: Readonly<PodSpec>): void {
  const known = new Set((old.schedulingGates ?? []).map((gate) => gate.name));
  for (const [i, { name }] of (spec.schedulingGates ?? []).entries()) {
    if (known.has(name)) continue;
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    out.push(forbidden(`spec.schedulingGates[${i}].name`, detail));
  }
}

function validateNothingElse(out: FieldError[], spec: Readonly<PodSpec>, old: Readonly<PodSpec>): void {
  if (semanticEqual(spec, old)) return;
  const munged = withAllowedChanges(spec, old);
  if ((old.schedulingGates ?? []).length > 0) validateGatedChanges(out, munged, old);
  if (semanticEqual(munged, old)) return;
  out.push(
    forbidden('spec', `pod updates may not change fields other than ${CHANGEABLE}\n${podSpecDiff(old, munged)}`),
  );
}

/** Returns the new spec with all allowed changes reverted: any remaining difference is refused. */
function withAllowedChanges(spec: Readonly<PodSpec>, old: Readonly<PodSpec>): PodSpec {
  const munged: PodSpec = { ...spec, containers: withOldImages(spec.containers, old.containers) };
  if (spec.initContainers !== undefined) {
    munged.initContainers = withOldImages(spec.initContainers, old.initContainers ?? []);
  }
  for (const key of ['activeDeadlineSeconds', 'schedulingGates', 'tolerations'] as const) takeOver(munged, old, key);
  const oldGrace = old.terminationGracePeriodSeconds;
  if (oldGrace !== undefined && oldGrace < 0 && spec.terminationGracePeriodSeconds === 1) {
    munged.terminationGracePeriodSeconds = oldGrace;
  }
  return munged;
}

function withOldImages(containers: readonly Container[], old: readonly Container[]): Container[] {
  return containers.map((container, i) => {
    const { image: _, ...rest } = container;
    const image = old[i]?.image;
    return image === undefined ? rest : { ...rest, image };
  });
}

function takeOver<K extends keyof PodSpec>(spec: PodSpec, old: Readonly<PodSpec>, key: K): void {
  if (old[key] === undefined) delete spec[key];
  else spec[key] = old[key];
}

/** While a pod is gated, its node constraints can only be narrowed. */
function validateGatedChanges(out: FieldError[], spec: PodSpec, old: Readonly<PodSpec>): void {
  const selector = spec.nodeSelector ?? {};
  for (const [key, value] of Object.entries(old.nodeSelector ?? {})) {
    if (selector[key] === value) continue;
    const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    out.push(invalid('spec.nodeSelector', goStringMap(spec.nodeSelector), detail));
    break;
  }
  takeOver(spec, old, 'nodeSelector');
  const before = old.affinity?.nodeAffinity;
  if (semanticEqual(spec.affinity?.nodeAffinity, before)) return;
  validateNodeAffinityChange(out, spec.affinity?.nodeAffinity, before);
  setNodeAffinity(spec, old.affinity);
}

function setNodeAffinity(spec: PodSpec, old: Readonly<Affinity> | undefined): void {
  const { nodeAffinity: _, ...rest } = spec.affinity ?? {};
  const affinity: Affinity = old?.nodeAffinity === undefined ? rest : { ...rest, nodeAffinity: old.nodeAffinity };
  if (old === undefined && Object.keys(affinity).length === 0) delete spec.affinity;
  else spec.affinity = affinity;
}

function validateNodeAffinityChange(
  out: FieldError[],
  affinity: Readonly<NodeAffinity> | undefined,
  old: Readonly<NodeAffinity> | undefined,
): void {
  const path = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const oldTerms = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  if (oldTerms.length > 0 && (terms ?? []).length !== oldTerms.length) {
    out.push(
      invalid(
        path,
        goValue('[]core.NodeSelectorTerm', terms),
        'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
      ),
    );
    return;
  }
  for (const [i, oldTerm] of oldTerms.entries()) {
    if (onlyAdds(terms?.[i] ?? {}, oldTerm)) continue;
    out.push(
      invalid(
        `${path}[${i}]`,
        goValue('core.NodeSelectorTerm', terms?.[i]),
        'only additions are allowed (no mutations or deletions)',
      ),
    );
  }
}

/** An empty term matches nothing, so additions would widen it. */
function onlyAdds(term: Readonly<NodeSelectorTerm>, old: Readonly<NodeSelectorTerm>): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const;
  if (lists.every((key) => (old[key] ?? []).length === 0)) return lists.every((key) => (term[key] ?? []).length === 0);
  return lists.every((key) => {
    const before = old[key] ?? [];
    return semanticEqual((term[key] ?? []).slice(0, before.length), before);
  });
}
