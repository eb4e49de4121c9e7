import { type Clock, describeError } from '@holdfast/platform';
import { nodeHttp } from '@holdfast/platform/http';
import { LOG_REQUEST_TIMEOUT_MS } from '../limits.ts';
import type { MonitorReading } from './guarantees.ts';
import { record } from './json.ts';

const ANSWER_MAX_CHARACTERS = 1024 * 1024;

/** Asks the monitoring address of a NATS server how its JetStream is configured. Never rejects. */
export async function readMonitor(clock: Clock, url: string): Promise<MonitorReading> {
  try {
    const address = url.replace(/\/$/, '');
    const [answer, about] = await Promise.all([
      readJson(clock, `${address}/jsz?config=1`),
      readJson(clock, `${address}/varz`),
    ]);
    return { url, answer, version: versionOf(about), failure: undefined };
  } catch (error) {
    return { url, answer: undefined, failure: describeError(error) };
  }
}

function versionOf(about: unknown): string | undefined {
  const { version } = record(about);
  return typeof version === 'string' ? version : undefined;
}

/** Rejects when the answer is no JSON, is too large, or does not come in time. */
export function readJson(clock: Clock, url: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const request = nodeHttp().get(url, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length > ANSWER_MAX_CHARACTERS) request.destroy(new Error('the answer is too large'));
      });
      response.on('error', reject).on('end', () => {
        try {
          resolve(JSON.parse(text));
        } catch (cause) {
          reject(new Error(`status ${response.statusCode} without JSON`, { cause }));
        }
      });
    });
    const overdue = clock.timer(LOG_REQUEST_TIMEOUT_MS, () => request.destroy(new Error('no answer in time')));
    request.on('error', reject).on('close', () => overdue.cancel());
  });
}
