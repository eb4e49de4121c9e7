import { badRequest, StatusError } from '@holdfast/machinery/status';
import { REQUEST_BODY_BYTES_MAX } from '../limits.ts';
import { IS_NO_PART } from './request-info.ts';

export function bodyTooLarge(): StatusError {
  return new StatusError({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: limit is ${REQUEST_BODY_BYTES_MAX}`,
  });
}

export const headersTooLarge = (): StatusError =>
  new StatusError({ code: 431, reason: 'BadRequest', message: 'the headers of the request are too large' });

/** A refusal by authorization. Its message contains names from the client: no browser may treat it as a page. */
export class RequestForbidden extends StatusError {}

export const methodNotAllowed = (): StatusError =>
  new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });

export function refuseName(name: string): void {
  if (!IS_NO_PART.test(name)) return;
  const why =
    name === '.' || name === '..'
      ? `may not be '${name}'`
      : ['/', '%'].flatMap((each) => (name.includes(each) ? [`may not contain '${each}'`] : [])).join(';');
  throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${why}`);
}
