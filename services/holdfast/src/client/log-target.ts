import type { Arguments } from '@holdfast/platform/config';
import { LOG_ACCESS_SETTINGS, readLogAddresses } from '@holdfast/platform/log-address';
import { readSettingFile } from '@holdfast/platform/setting-files';
import { readStoreTls, STORE_TLS_SETTINGS } from '@holdfast/platform/tls-client';
import type { LogTarget } from '../backup/begin-with.ts';

const SETTINGS = { ...LOG_ACCESS_SETTINGS, ...STORE_TLS_SETTINGS, store: { kind: 'string', help: '' } } as const;

/** The NATS servers of a store, and how this command may use them. */
export async function readLogTarget(
  settings: Arguments<typeof SETTINGS>['settings'],
  store: string,
): Promise<LogTarget> {
  const { 'store-user': user, 'store-password-file': passwordFile, 'store-replicas': replicas } = settings;
  const tls = readStoreTls(settings);
  const password = passwordFile === undefined ? undefined : (await readSettingFile(passwordFile)).trim();
  return {
    servers: readLogAddresses(store),
    replicas,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  };
}
