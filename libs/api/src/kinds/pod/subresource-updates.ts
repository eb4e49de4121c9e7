import { type FieldError, forbidden, invalid, semanticEqual } from '@holdfast/machinery';
import type { Container, Pod, ResourceRequirements } from '../../generated/types.ts';
import { validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { isMirrorPod, validatePodAnnotations, validatePodAnnotationUpdate } from '../../validation/pod/annotations.ts';
import { qosClassOf } from './qos.ts';
import { specDiff } from './spec-diff.ts';
import { validatePod } from './validation.ts';

/** Ephemeral containers can only be added. */
export function validateEphemeralContainersUpdate(pod: Readonly<Pod>, old: Readonly<Pod>): readonly FieldError[] {
  const out: FieldError[] = [];
  if (isMirrorPod(old.metadata)) return [forbidden('', 'static pods do not support ephemeral containers')];
  validateObjectMetaUpdate(out, pod.metadata, old.metadata);
  validatePod(out, pod);
  validatePodAnnotationUpdate(out, 'metadata.annotations', pod.metadata.annotations, old.metadata.annotations);
  validatePodAnnotations(out, 'metadata.annotations', pod.metadata.annotations, pod.spec);
  const path = 'spec.ephemeralContainers';
  const byName = new Map((pod.spec.ephemeralContainers ?? []).map((container) => [container.name, container]));
  for (const container of old.spec.ephemeralContainers ?? []) {
    const after = byName.get(container.name);
    const name = JSON.stringify(container.name);
    if (after === undefined) {
      out.push(forbidden(path, `existing ephemeral containers ${name} may not be removed\n`));
    } else if (!semanticEqual(after, container)) {
      const diff = specDiff(container, after);
      out.push(forbidden(path, `existing ephemeral containers ${name} may not be changed\n${diff}`));
    }
  }
  return out;
}

/** Only the cpu and memory of containers that run can change, and the class of the pod stays. */
export function validatePodResize(pod: Readonly<Pod>, old: Readonly<Pod>): readonly FieldError[] {
  const out: FieldError[] = [];
  if (isMirrorPod(old.metadata)) return [forbidden('', 'static pods cannot be resized')];
  if (old.spec.os?.name === 'windows') return [forbidden('', 'windows pods cannot be resized')];
  validateObjectMetaUpdate(out, pod.metadata, old.metadata);
  validatePod(out, pod);
  if (qosClassOf(pod) !== (old.status.qosClass ?? qosClassOf(old))) {
    out.push(invalid('spec', pod.status.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing'));
  }
  if (!isResizeSupported(old)) out.push(forbidden('spec', 'Pod running on node without support for resize'));
  for (const [i, container] of old.spec.containers.entries()) {
    const after = pod.spec.containers[i];
    if (after !== undefined) validateResize(out, `spec.containers[${i}].resources`, after, container);
  }
  if (!semanticEqual(withoutComputeResources(pod), withoutComputeResources(old))) {
    out.push(forbidden('spec', 'only cpu and memory resources are mutable'));
  }
  return out;
}

/** A kubelet that can resize reports the resources of every running container. */
function isResizeSupported(pod: Readonly<Pod>): boolean {
  const running = pod.status.containerStatuses?.find((status) => status.state.running !== undefined);
  return running === undefined || running.resources !== undefined;
}

function validateResize(out: FieldError[], path: string, after: Readonly<Container>, old: Readonly<Container>): void {
  for (const key of ['requests', 'limits'] as const) {
    const removed = Object.keys(old.resources[key] ?? {}).some((name) => after.resources[key]?.[name] === undefined);
    if (removed) out.push(forbidden(`${path}.${key}`, `resource ${key} cannot be removed`));
  }
}

function withoutComputeResources({ spec }: Readonly<Pod>): object {
  const strip = (container: Readonly<Container>): object => ({
    ...container,
    resources: { limits: others(container.resources, 'limits'), requests: others(container.resources, 'requests') },
  });
  return { ...spec, containers: spec.containers.map(strip) };
}

function others(resources: Readonly<ResourceRequirements>, key: 'limits' | 'requests'): object {
  const { cpu: _cpu, memory: _memory, ...rest } = resources[key] ?? {};
  return rest;
}
