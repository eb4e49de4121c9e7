import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { textAnswer } from './answers.ts';

/** For paths without an API that could return a `Status`. */
export const nothingThere = (): ApiResponse => textAnswer(404, '404 page not found\n');

export const notServed = (): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
