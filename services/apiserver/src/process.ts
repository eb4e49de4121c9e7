import type { Bus } from '@holdfast/bus';
import { createNatsBus } from '@holdfast/bus/nats';
import {
  type Clock,
  createIds,
  createSystemClock,
  createSystemRandom,
  type Log,
  opened,
  openTracing,
  type Service,
  startAll,
} from '@holdfast/platform';
import { healthServers } from '@holdfast/platform/health-server';
import { watchPair } from '@holdfast/platform/pair-watch';
import { readAuthority, readPair, readSettingFile } from '@holdfast/platform/setting-files';
import { storeLimits } from '@holdfast/platform/store-limit';
import type { Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { createRedisStore } from '@holdfast/store/redis';
import { type ApiServer, type ApiServerDeps, createApiServer, type ServiceAccountOptions } from './app.ts';
import { openAudit } from './audit/configuration.ts';
import { parseTokenFile } from './authentication/static-tokens.ts';
import type { ApiServerConfig, BusConfig } from './config.ts';
import type { EncryptionTools } from './encryption/configuration.ts';
import { type Encryption, NO_ENCRYPTION } from './encryption/setting.ts';
import { AnswersUnderWay, createHttpsServer } from './front/index.ts';
import { historyOptions } from './history/open.ts';
import { type LogStoreConfig, storeForm } from './log-store-settings.ts';
import { createRelay, publisherOptions } from './relay/index.ts';

/** The apiserver as a process of its own: store, bus, relay, pipeline and HTTPS, started in order and stopped in reverse. */
export async function startProcess(config: ApiServerConfig, log: Log): Promise<Service> {
  const clock = createSystemClock();
  const ids = createIds(createSystemRandom());
  const [pair, tokenText, clientCa] = await Promise.all([
    readPair(config.tls.certFile, config.tls.keyFile),
    readSettingFile(config.tokenFile),
    config.tls.clientCaFile === undefined ? undefined : readAuthority(config.tls.clientCaFile),
  ]);
  const tokens = parseTokenFile(tokenText, config.tokenFile);
  const serviceAccounts = await readServiceAccounts(config);
  const nodes = await readKubeletAccess(config, clock);
  const encryption = await readEncryption(config, { clock, ids, log });
  const audit = await openAudit(config.audit, { clock, log });
  const frontProxy = await readFrontProxy(config);
  const tracing = await openTracing('apiserver', config.tracingEndpoint);
  const store = await openStore(config, { clock, log, ids });
  const answers = new AnswersUnderWay();
  const api = createApiServer({
    answers,
    store: encryption.around(store),
    storeForm: storeForm(config),
    keyServices: encryption.keys,
    clock,
    ids,
    log,
    tokens,
    defaultTolerationSeconds: config.defaultTolerationSeconds,
    allowPrivileged: config.allowPrivileged,
    optionalPlugins: config.optionalPlugins,
    serviceNetwork: config.serviceNetwork,
    defaultStorageClass: config.defaultStorageClass,
    features: config.features,
    clientCa,
    audit,
    history: config.history === undefined ? undefined : historyOptions(config.history, config.historyDirectory),
    frontProxy,
    ...(serviceAccounts === undefined ? {} : { serviceAccounts }),
    ...(nodes === undefined ? {} : { nodes }),
    ...(tracing.tracer === undefined ? {} : { tracer: tracing.tracer }),
  });
  const https = createHttpsServer({
    handle: api.handle,
    answers,
    log,
    host: config.host,
    port: config.port,
    tls: { ...pair, ...(clientCa === undefined ? {} : { clientCa }) },
  });
  const publishing = config.bus === undefined ? [] : await publish(config.bus, { store, clock, log, api });
  const services = [
    opened('tracing', () => tracing.stop()),
    opened('store', () => store.close()),
    ...encryption.services,
    api,
    ...publishing,
    https,
    watchPair({ ...config.tls, pair, renew: https.renew, clock, log }),
    ...healthServers('API server', config.healthAddress, () => api.health()),
  ];
  const running = await startAll('apiserver-process', services, { clock, log });
  log.info('the API is served', { ...https.address(), store: storeForm(config).name });
  return running;
}

async function readServiceAccounts(config: ApiServerConfig): Promise<ServiceAccountOptions | undefined> {
  const {
    serviceAccountKeyFile: file,
    serviceAccountVerificationKeyFile: furtherFile,
    serviceAccountIssuer: issuer,
  } = config;
  if (file === undefined) return undefined;
  return {
    signingKey: await readSettingFile(file),
    ...(furtherFile === undefined ? {} : { verificationKeys: await readSettingFile(furtherFile) }),
    ...(issuer === undefined ? {} : { issuer }),
  };
}

/** Loaded on demand: most clusters have none. */
async function readEncryption({ encryptionFile }: ApiServerConfig, tools: EncryptionTools): Promise<Encryption> {
  if (encryptionFile === undefined) return NO_ENCRYPTION;
  const { openEncryption } = await import('./encryption/configuration.ts');
  return openEncryption(encryptionFile, tools);
}

async function readKubeletAccess({ kubelets }: ApiServerConfig, clock: Clock): Promise<ApiServerDeps['nodes']> {
  if (kubelets === undefined) return undefined;
  const { createKubeletGateway } = await import('./proxy/kubelet-gateway.ts');
  const [ca, pair] = await Promise.all([readAuthority(kubelets.caFile), readPair(kubelets.certFile, kubelets.keyFile)]);
  return (reader) => createKubeletGateway(reader, { clock, tls: { ca, ...pair } });
}

async function readFrontProxy({ frontProxy }: ApiServerConfig): Promise<ApiServerDeps['frontProxy']> {
  if (frontProxy === undefined) return undefined;
  const [ca, pair] = await Promise.all([
    readAuthority(frontProxy.caFile),
    readPair(frontProxy.certFile, frontProxy.keyFile),
  ]);
  return { ca, ...pair };
}

interface Tools {
  readonly clock: Clock;
  readonly log: Log;
}

async function openStore(
  config: ApiServerConfig,
  tools: Tools & { readonly ids: ReturnType<typeof createIds> },
): Promise<Store> {
  const limits = storeLimits(config.storeLimitMb);
  if (config.logStore !== undefined) return openLogStore(config.logStore, config, { ...tools, limits });
  if (config.redisUrl === undefined) return createMemoryStore({ ids: tools.ids, limits });
  const { redisUrl: url, storeTls: tls, allowUnsafeStore: allowUnsafe } = config;
  return createRedisStore({ url, ...(tls === undefined ? {} : { tls }), ...tools, allowUnsafe, limits });
}

/** Loaded on demand: the library for NATS would cost the other forms a start. */
async function openLogStore(
  { passwordFile, user, ...log }: LogStoreConfig,
  { storeTls: tls, allowUnsafeStore: allowUnsafe }: ApiServerConfig,
  tools: Tools & { readonly ids: ReturnType<typeof createIds>; readonly limits: ReturnType<typeof storeLimits> },
): Promise<Store> {
  const { createLogStore } = await import('@holdfast/store/log');
  const password = passwordFile === undefined ? undefined : (await readSettingFile(passwordFile)).trim();
  return createLogStore({
    ...log,
    ...tools,
    allowUnsafe,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  });
}

async function publish(
  config: BusConfig,
  deps: Tools & { readonly store: Store; readonly api: ApiServer },
): Promise<readonly Service[]> {
  const { clock, log, api, store } = deps;
  const password = config.passwordFile === undefined ? undefined : (await readSettingFile(config.passwordFile)).trim();
  const bus: Bus = createNatsBus({ ...publisherOptions(config, { store, password }), clock, log });
  return [
    opened('bus', () => bus.close()),
    createRelay({ ...deps, bus, knownState: api.knownState }),
    ...api.shareAuthors(bus.notes),
  ];
}
