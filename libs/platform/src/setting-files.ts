import { readFile } from 'node:fs/promises';
import { OperatorError } from './errors.ts';
import { isCertificate, pairFlaw } from './pem.ts';

/** The text of a file that a setting names. */
export async function readSettingFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new OperatorError({
      code: 'FILE',
      message: `The file ${path} cannot be read.`,
      nextStep: 'Check the path and who may read it.',
      exitCode: 2,
      cause: error,
    });
  }
}

/** A certificate and its key. Looked at here: whoever serves with them could only say that it failed. */
export async function readPair(
  certFile: string,
  keyFile: string,
): Promise<{ readonly certificate: string; readonly key: string }> {
  const [certificate, key] = await Promise.all([readSettingFile(certFile), readSettingFile(keyFile)]);
  const flaw = pairFlaw({ name: certFile, text: certificate }, { name: keyFile, text: key });
  if (flaw !== undefined) throw unfit(flaw, 'Name a certificate and the key that belongs to it, both in PEM.');
  return { certificate, key };
}

/** The certificates of an authority. With anything else here nobody would be believed, and nobody would know why. */
export async function readAuthority(path: string): Promise<string> {
  const text = await readSettingFile(path);
  if (isCertificate(text)) return text;
  throw unfit(`${path} is no certificate`, 'Name the certificate of the authority, in PEM.');
}

const unfit = (flaw: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'FILE', message: `The file ${flaw}.`, nextStep, exitCode: 2 });
