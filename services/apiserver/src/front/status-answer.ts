import type { StatusError } from '@holdfast/machinery/status';
import type { ClientAnswer } from './client-answer.ts';

/** Answers a request that never reached the pipeline. */
export function answerStatus(answer: Pick<ClientAnswer, 'answer'>, { body }: StatusError): void {
  const retry = body.details?.retryAfterSeconds;
  const headers = {
    'content-type': 'application/json',
    ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
  };
  answer.answer(body.code, headers, Buffer.from(JSON.stringify(body)));
}
