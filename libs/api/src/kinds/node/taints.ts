import { duplicate, type FieldError, invalid, isJsonObject, required, Verbatim } from '@holdfast/machinery';
import type { Taint } from '../../generated/types.ts';
import { AVOID_PODS_ANNOTATION } from '../../semantics/well-known.ts';
import { labelValueErrors } from '../../validation/formats.ts';
import { goJsonProblem, textsOfItems } from '../../validation/go-json.ts';
import { goString, goStructText } from '../../validation/go-text.ts';
import { validateLabelName } from '../../validation/labels.ts';
import { validateTaintEffect } from '../../validation/pod/tolerations.ts';

const TAINTS = 'scheduler.alpha.kubernetes.io/taints';

const goTaint = ({ key, value, effect, timeAdded }: Readonly<Taint>): Verbatim =>
  new Verbatim(
    goStructText('core.Taint', {
      Key: goString(key),
      Value: goString(value),
      Effect: goString(effect),
      TimeAdded: timeAdded === undefined ? '<nil>' : timeAdded,
    }),
  );

export function validateTaints(out: FieldError[], at: string, taints: readonly Taint[]): void {
  const seen = new Set<string>();
  for (const [i, taint] of taints.entries()) {
    const path = `${at}[${i}]`;
    validateLabelName(out, `${path}.key`, taint.key ?? '');
    const errors = labelValueErrors(taint.value ?? '');
    if (errors.length > 0) out.push(invalid(`${path}.value`, taint.value, errors.join(';')));
    validateTaintEffect(out, `${path}.effect`, taint.effect);
    const key = `${taint.effect}/${taint.key}`;
    if (seen.has(key)) {
      out.push({ ...duplicate(path, goTaint(taint)), detail: 'taints must be unique by key and effect pair' });
    }
    seen.add(key);
  }
}

/** Taints before they became a field, and an obsolete preference. */
export function validateNodeAnnotations(
  out: FieldError[],
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
): void {
  const taints = annotations?.[TAINTS] ?? '';
  if (taints !== '') validateTaintsText(out, path, taints);
  const avoid = annotations?.[AVOID_PODS_ANNOTATION] ?? '';
  if (avoid !== '') validateAvoidText(out, path, avoid);
}

function validateTaintsText(out: FieldError[], path: string, text: string): void {
  const problem = goJsonProblem(text, '[]core.Taint');
  if (problem !== undefined) {
    out.push(invalid(path, TAINTS, problem));
    return;
  }
  const taints: readonly Taint[] = textsOfItems(text).map((item) => ({ key: '', effect: '', ...item }));
  validateTaints(out, `${path}.${TAINTS}`, taints);
}

function validateAvoidText(out: FieldError[], path: string, text: string): void {
  const problem = goJsonProblem(text, 'v1.AvoidPods');
  if (problem !== undefined) {
    out.push(invalid(`${path}.AvoidPods`, AVOID_PODS_ANNOTATION, problem));
    return;
  }
  const entries = memberOf(JSON.parse(text), 'preferAvoidPods');
  if (!Array.isArray(entries)) return;
  for (const [i, entry] of entries.entries()) {
    const signature = `${path}.${AVOID_PODS_ANNOTATION}[${i}].PodSignature`;
    const owner = memberOf(memberOf(entry, 'podSignature'), 'podController');
    if (owner === undefined || owner === null) out.push(required(signature));
    else if (memberOf(owner, 'controller') !== true) {
      out.push(invalid(`${signature}.PodController.Controller`, false, 'must point to a controller'));
    }
  }
}

const memberOf = (value: unknown, name: string): unknown => (isJsonObject(value) ? value[name] : undefined);
