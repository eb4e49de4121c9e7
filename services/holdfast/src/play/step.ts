import { StatusError } from '@holdfast/machinery';
import { parseDuration } from '@holdfast/platform';
import { isPlayed, kindOf, PLAYED_KINDS, type PlayedKind, REFUSED_KINDS, type Step } from './kinds.ts';
import { DELAY_MS_MAX, FAULT_MS_MAX, STEP_BYTES_MAX } from './limits.ts';

const WORD_CHARS_SHOWN = 100;

export const unfit = (message: string): StatusError => new StatusError({ code: 400, reason: 'BadRequest', message });

/** A step as a scenario file writes it, without `at`: `{ "do": "isolate", "target": "node-1", "for": "30s" }`. */
export function readStep(body: string | Uint8Array | undefined): Step {
  const {
    do: name,
    target,
    for: lasts,
    ...values
  } = fieldsOf(body, '{"do": "isolate", "target": "node-1", "for": "30s"}');
  const kind = readKind(name);
  const { targets, value } = kindOf(kind);
  const wrong = Object.keys(values).find((key) => key !== value);
  if (wrong !== undefined) throw unfit(`${kind} has no field "${shown(wrong)}"`);
  if (targets === 'none' ? target !== undefined : typeof target !== 'string') {
    throw unfit(targets === 'none' ? `${kind} has no target` : `the target of ${kind} is the name of a ${targets}`);
  }
  return {
    do: kind,
    ...(typeof target === 'string' ? { target } : {}),
    ...(lasts === undefined ? {} : { forMs: spanOf('for', lasts, FAULT_MS_MAX) }),
    ...(value === undefined ? {} : { value: valueOf(value, values[value]) }),
  };
}

/** The fields of a JSON object such as `example`. */
export function fieldsOf(body: string | Uint8Array | undefined, example: string): Readonly<Record<string, unknown>> {
  const text = typeof body === 'string' ? body : Buffer.from(body ?? []).toString();
  if (text.length > STEP_BYTES_MAX) throw unfit('a step is smaller than this');
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Told below.
  }
  throw unfit(`the body is a JSON object, as in ${example}`);
}

function readKind(name: unknown): PlayedKind {
  if (typeof name !== 'string') throw unfit(`"do" names a fault: ${Object.keys(PLAYED_KINDS).join(', ')}`);
  if (isPlayed(name)) return name;
  const refusal = REFUSED_KINDS.get(name);
  if (refusal !== undefined) throw unfit(`an embedded cluster cannot do ${name}: ${refusal}`);
  throw unfit(
    `there is no fault "${shown(name)}": use ${Object.keys(PLAYED_KINDS).join(', ')}; what users do is done with kubectl`,
  );
}

export function spanOf(field: string, value: unknown, maxMs: number): number {
  const ms = typeof value === 'string' ? parseDuration(value) : undefined;
  if (ms !== undefined && ms > 0 && ms <= maxMs) return ms;
  throw unfit(`"${field}" is a time such as "30s", at most ${maxMs / 1000}s`);
}

function valueOf(field: 'delay' | 'loss', value: unknown): number {
  if (field === 'delay') return spanOf(field, value, DELAY_MS_MAX);
  if (typeof value === 'number' && value > 0 && value <= 1) return value;
  throw unfit('"loss" is a share above 0 and at most 1, such as 0.3');
}

const shown = (word: string): string => word.slice(0, WORD_CHARS_SHOWN);
