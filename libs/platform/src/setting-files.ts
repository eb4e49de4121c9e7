import { readFile } from 'node:fs/promises';
import { OperatorError } from './errors.ts';
import { isCertificate, pairFlaw } from './pem.ts';

/** Reads a file that a setting names. */
export async function readSettingFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OperatorError({
      code: 'FILE',
      message: `The file ${path} cannot be read.`,
      nextStep: 'Check the path and the permissions of the file.',
      exitCode: 2,
      cause: error,
    });
  }
}

/** Reads a certificate and its key and checks the pair, because a later TLS failure would not explain itself. */
export async function readPair(
  certFile: string,
  keyFile: string,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = await Promise.all([readSettingFile(certFile), readSettingFile(keyFile)]);
  const flaw = pairFlaw({ name: certFile, text: certificate }, { name: keyFile, text: key });
  if (flaw !== undefined) throw unfit(flaw, 'Name a certificate and the key that belongs to it, both in PEM.');
  return { certificate, key };
}

/**
 * Reads and checks the certificates of an authority. With a wrong file every connection would fail without an
 * explanation.
 */
export async function readAuthority(path: string): Promise<string> {
  const text = await readSettingFile(path);
  if (isCertificate(text)) return text;
  throw unfit(`${path} is not a certificate`, 'Name the certificate of the authority, in PEM.');
}

const unfit = (flaw: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'FILE', message: `The file ${flaw}.`, nextStep, exitCode: 2 });
