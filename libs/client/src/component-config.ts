import { readFileSync } from 'node:fs';
import { type Bus, traceDelivery } from '@holdfast/bus';
import {
  type Clock,
  createIds,
  createSystemClock,
  createSystemRandom,
  type Ids,
  LOG_LEVEL_SETTING,
  type Log,
  OperatorError,
  opened,
  openTracing,
  type Random,
  type Service,
  TRACING_SETTING,
  type Tracer,
} from '@holdfast/platform';
import { requireSettings, type SettingSpecs, type Settings } from '@holdfast/platform/config';
import { HEALTH_SETTING } from '@holdfast/platform/health-server';
import { isCertificate } from '@holdfast/platform/pem';
import { BUS_TLS_SETTINGS, readBusTls } from '@holdfast/platform/tls-client';
import { createApiClient } from './api-client.ts';
import { TOKEN_RELOAD_MS } from './limits.ts';
import type { ApiClient } from './port.ts';
import { createHttpsTransport } from './transport/https.ts';

/**
 * The settings of every component that talks to the API over the network. Each component spreads them beside its own.
 */
export const COMPONENT_SETTINGS = {
  'api-servers': { kind: 'list', help: 'addresses of the API servers, https://host:port' },
  'ca-file': { kind: 'file', help: 'PEM file of the authority that signed the API servers' },
  'token-file': { kind: 'file', help: 'file with the bearer token of this component; read again when it changes' },
  bus: {
    kind: 'list',
    help: 'NATS servers of the event bus, nats:// or tls://; without it the component watches the API',
  },
  'bus-user': { kind: 'string', help: 'user name on the bus' },
  'bus-password': { kind: 'string', help: 'password on the bus' },
  ...BUS_TLS_SETTINGS,
  'health-address': HEALTH_SETTING,
  'tracing-endpoint': TRACING_SETTING,
  'log-level': LOG_LEVEL_SETTING,
} as const satisfies SettingSpecs;

export type ComponentSettings = Settings<typeof COMPONENT_SETTINGS>;

/** The tools of a component that runs in a process of its own. */
export interface Component {
  readonly client: ApiClient;
  readonly bus: Bus | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly ids: Ids;
  readonly log: Log;
  readonly tracer: Tracer | undefined;
  /** Stop it last. */
  readonly connection: Service;
}

/**
 * Opens what a component needs of the machine and of the network. It sends nothing yet, so it works while the servers
 * are down.
 */
export async function openComponent(
  settings: ComponentSettings,
  {
    name,
    log,
    userAgent = `holdfast-${name}`,
    incarnation,
  }: { readonly name: string; readonly log: Log; readonly userAgent?: string; readonly incarnation?: string },
): Promise<Component> {
  const clock = createSystemClock();
  const random = createSystemRandom();
  const { tracer, ...tracing } = await openTracing(name, settings['tracing-endpoint']);
  const { client, bus, ...link } = await connectComponent(settings, { clock, log, userAgent, incarnation, tracer });
  const connection = opened('connection', async () => {
    await link.close();
    await tracing.stop();
  });
  return { client, bus, clock, random, ids: createIds(random), log, tracer, connection };
}

export interface ComponentConnection {
  readonly client: ApiClient;
  readonly bus: Bus | undefined;
  close(): Promise<void>;
}

/** Connects with one identity. */
export async function connectComponent(
  settings: ComponentSettings,
  deps: {
    readonly clock: Clock;
    readonly log: Log;
    readonly userAgent: string;
    readonly incarnation?: string | undefined;
    readonly tracer?: Tracer | undefined;
  },
): Promise<ComponentConnection> {
  const needed = requireSettings(settings, ['api-servers', 'ca-file', 'token-file']);
  const servers = needed['api-servers'];
  const caPem = readAuthority(needed['ca-file']);
  const transport = createHttpsTransport({ servers, caPem, clock: deps.clock, tracer: deps.tracer });
  const token = createTokenReader(needed['token-file'], deps);
  const { clock, userAgent, incarnation } = deps;
  const client = createApiClient({ transport, token, userAgent, incarnation, clock });
  const bus = await connectBus(settings, deps);
  const close = async (): Promise<void> => {
    await bus?.close();
    await transport.close();
  };
  return { client, bus, close };
}

async function connectBus(
  settings: ComponentSettings,
  { clock, log, tracer }: { readonly clock: Clock; readonly log: Log; readonly tracer?: Tracer | undefined },
): Promise<Bus | undefined> {
  if (settings.bus === undefined) return undefined;
  // Loaded on demand: a component without a bus does not load the NATS client.
  const { createNatsBus } = await import('@holdfast/bus/nats');
  const user = settings['bus-user'];
  const password = settings['bus-password'];
  const tls = readBusTls(settings);
  const connected = createNatsBus({
    servers: settings.bus,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
    role: 'consumer',
    clock,
    log,
  });
  return tracer === undefined ? connected : traceDelivery(connected, tracer);
}

/** Checks the file here: with wrong content every request would fail to verify the server. */
function readAuthority(path: string): string {
  const text = readSettingFile('ca-file', path);
  if (isCertificate(text)) return text;
  throw unfitFile(
    `the file of --ca-file, ${path}, is not a certificate`,
    'name the certificate of the authority, in PEM',
  );
}

/**
 * Returns a function that reads a rotated token within `TOKEN_RELOAD_MS`. While the file is unreadable or empty it
 * returns the last token.
 */
function createTokenReader(path: string, { clock, log }: { readonly clock: Clock; readonly log: Log }): () => string {
  let token = readToken(path);
  let readAt = clock.monotonic();
  return () => {
    if (clock.monotonic() - readAt < TOKEN_RELOAD_MS) return token;
    readAt = clock.monotonic();
    try {
      token = readToken(path);
    } catch (error) {
      log.warn('the token file cannot be read, using the last token', { path, error });
    }
    return token;
  };
}

function readToken(path: string): string {
  const token = readSettingFile('token-file', path).trim();
  if (/^[!-~]+$/.test(token)) return token;
  throw unfitFile(`the file of --token-file, ${path}, holds no token`, 'write the token into it and nothing else');
}

const unfitFile = (message: string, nextStep: string): OperatorError =>
  new OperatorError({ code: 'UnfitFile', message, nextStep, exitCode: 2 });

function readSettingFile(setting: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new OperatorError({
      code: 'UnreadableFile',
      message: `the file of --${setting}, ${path}, cannot be read`,
      nextStep: 'create the file or point the setting at the right one',
      exitCode: 2,
      cause: error,
    });
  }
}
