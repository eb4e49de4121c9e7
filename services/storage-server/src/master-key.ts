import { OperatorError } from '@holdfast/platform';
import { readSettingFile } from '@holdfast/platform/setting-files';
import { MASTER_KEY_CHARS_MAX, MASTER_KEY_CHARS_MIN } from './limits.ts';

/** The text of the file, without white space around it. */
export async function readMasterKey(path: string): Promise<string> {
  const key = (await readSettingFile(path)).trim();
  if (key.length >= MASTER_KEY_CHARS_MIN && key.length <= MASTER_KEY_CHARS_MAX) return key;
  throw new OperatorError({
    code: 'BadKey',
    message: `the master key in ${path} has ${key.length} characters, not ${MASTER_KEY_CHARS_MIN} to ${MASTER_KEY_CHARS_MAX}`,
    nextStep: `Make one: openssl rand -hex 32 > ${path}`,
    exitCode: 2,
  });
}
