import { type PemBlock, pemBlocks } from '../../validation/pem.ts';

/** The PKCS #10 request in `spec.request` (base64 of PEM); nothing when there is none. A signer reads only the first block. */
export function requestDer(request: string): Buffer | undefined {
  const [block] = pemBlocks(Buffer.from(request, 'base64').toString('latin1'));
  return block?.type === 'CERTIFICATE REQUEST' ? pemBytes(block) : undefined;
}

/** The content of a block; nothing when it is no base64, for which Go passes over the block. */
export function pemBytes({ body }: PemBlock): Buffer | undefined {
  const lines = body.trimStart().split('\n');
  const first = lines.findIndex((line) => !line.includes(':'));
  const text =
    first < 0
      ? ''
      : lines
          .slice(first)
          .join('')
          .replace(/[ \t\r]/g, '');
  return text.length % 4 === 0 && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
