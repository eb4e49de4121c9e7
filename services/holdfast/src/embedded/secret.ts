import { randomBytes } from 'node:crypto';

const SECRET_BYTES = 32;

/** An unguessable text that needs no escaping in addresses, headers and cookies. */
export const createSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');
