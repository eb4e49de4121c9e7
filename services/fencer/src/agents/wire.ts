import { isJsonObject, parseJson } from '@holdfast/machinery';
import { AGENT_WORDS_CHARS_MAX } from '../limits.ts';
import type { FenceAnswer, FenceRequest, FenceState } from './port.ts';

export const FENCING_API_VERSION = 'fencing.holdfast.io/v1';

/** The input of a command and the body for an HTTP agent. docs/fencing.md describes it. */
export const encodeRequest = (request: FenceRequest): string =>
  JSON.stringify({ apiVersion: FENCING_API_VERSION, kind: 'FenceRequest', ...request });

const STATES: readonly FenceState[] = ['fenced', 'unfenced', 'pending'];

/** Throws for anything but a valid answer: only the one word confirms a fence. */
export function decodeAnswer(text: string, requestId: string): FenceAnswer {
  const value = parseAnswer(text);
  const state = STATES.find((known) => known === value['state']);
  if (state === undefined) throw new Error(`the agent's answer has no "state" of ${STATES.join(', ')}`);
  const about = value['requestId'];
  if (about !== undefined && about !== requestId) throw new Error('the agent answered another request');
  const message = value['message'];
  return { state, message: typeof message === 'string' ? message.slice(0, AGENT_WORDS_CHARS_MAX) : '' };
}

function parseAnswer(text: string): Readonly<Record<string, unknown>> {
  try {
    const { value } = parseJson(text);
    if (isJsonObject(value)) return value;
  } catch (error) {
    throw new Error('the agent did not answer with JSON', { cause: error });
  }
  throw new Error('the agent did not answer with a JSON object');
}
