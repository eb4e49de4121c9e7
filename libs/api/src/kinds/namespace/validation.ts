import { type FieldError, invalid, notSupported } from '@holdfast/machinery';
import type { Namespace } from '../../generated/types.ts';
import { NAMESPACE_SELF_FENCING, SELF_FENCING } from '../../semantics/exclusive.ts';
import { isTerminating } from '../../semantics/pods.ts';
import { dnsLabelErrors, qualifiedNameErrors } from '../../validation/formats.ts';
import {
  validateObjectMeta,
  validateObjectMetaUpdate,
  validateStandardFinalizer,
} from '../../validation/object-meta.ts';

const META = { namespaced: false, name: dnsLabelErrors } as const;

export function validateNamespaceCreate(namespace: Readonly<Namespace>): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, namespace.metadata, META);
  validateSpecFinalizers(out, namespace);
  validatePolicy(out, namespace);
  return out;
}

/** A value that is stored already is accepted: an update of something else cannot correct it. */
function validatePolicy(out: FieldError[], { metadata }: Readonly<Namespace>, old?: Readonly<Namespace>): void {
  const policy = metadata.annotations?.[SELF_FENCING];
  if (policy === undefined || policy === old?.metadata.annotations?.[SELF_FENCING]) return;
  if (!NAMESPACE_SELF_FENCING.includes(policy))
    out.push(notSupported(`metadata.annotations[${SELF_FENCING}]`, policy, NAMESPACE_SELF_FENCING));
}

export function validateNamespaceUpdate(
  namespace: Readonly<Namespace>,
  old: Readonly<Namespace>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMeta(out, namespace.metadata, META);
  validateSpecFinalizers(out, namespace);
  validatePolicy(out, namespace, old);
  validateObjectMetaUpdate(out, namespace.metadata, old.metadata);
  return out;
}

export function validateNamespaceStatusUpdate(
  namespace: Readonly<Namespace>,
  old: Readonly<Namespace>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, namespace.metadata, old.metadata);
  validatePolicy(out, namespace, old);
  const phase = namespace.status.phase ?? '';
  const terminating = isTerminating(namespace);
  if (!terminating && phase !== 'Active') {
    out.push(invalid('status.Phase', phase, "may only be 'Active' if `deletionTimestamp` is empty"));
  }
  if (terminating && phase !== 'Terminating') {
    out.push(invalid('status.Phase', phase, "may only be 'Terminating' if `deletionTimestamp` is not empty"));
  }
  return out;
}

export function validateNamespaceFinalize(
  namespace: Readonly<Namespace>,
  old: Readonly<Namespace>,
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateObjectMetaUpdate(out, namespace.metadata, old.metadata);
  validatePolicy(out, namespace, old);
  validateSpecFinalizers(out, namespace, (i) => `spec.finalizers[${i}]`);
  return out;
}

function validateSpecFinalizers(
  out: FieldError[],
  namespace: Readonly<Namespace>,
  pathOf: (index: number) => string = () => 'spec.finalizers',
): void {
  for (const [i, name] of (namespace.spec.finalizers ?? []).entries()) {
    const path = pathOf(i);
    for (const text of qualifiedNameErrors(name)) out.push(invalid(path, name, text));
    validateStandardFinalizer(out, path, name);
  }
}
