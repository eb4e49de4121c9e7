import { parentPort } from 'node:worker_threads';
import { invariant } from '@holdfast/platform/invariant';
import { YamlSyntaxError, YamlTooLargeError } from './yaml-errors.ts';
import { readYaml } from './yaml-read.ts';
import type { YamlOutcome } from './yaml-reader.ts';

/** The thread that reads long YAML texts, one after the other. */
function main(): void {
  invariant(parentPort !== null, 'this module runs as a thread');
  const port = parentPort;
  port.on('message', (text: string) => port.postMessage(outcomeOf(text)));
}

function outcomeOf(text: string): YamlOutcome {
  try {
    const { value, duplicates } = readYaml(text);
    // Text passes the border at a tenth of the cost of values.
    return isJson(value)
      ? { kind: 'text', text: JSON.stringify(value), duplicates }
      : { kind: 'value', value, duplicates };
  } catch (error) {
    if (error instanceof YamlTooLargeError) return { kind: 'too large', why: error.message };
    if (error instanceof YamlSyntaxError) return { kind: 'no YAML', why: error.message };
    throw error;
  }
}

/** YAML also has sets and bytes. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return value !== undefined;
  if (Array.isArray(value)) return value.every(isJson);
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isJson);
}

main();
