import type { ApiResponse } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { textAnswer } from './answers.ts';

/** Where no API is that could answer with a `Status`. */
export const nothingThere = (): ApiResponse => textAnswer(404, '404 page not found\n');

export const notServed = (): StatusError =>
  new StatusError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
