import { isJsonObject, type Json, type JsonObject } from '@holdfast/machinery';
import { type Clock, type Ids, type Log, OperatorError } from '@holdfast/platform';
import { readSettingFile } from '@holdfast/platform/setting-files';
import { createSealedStore } from '@holdfast/store';
import { parseSettingYaml } from '../setting-yaml.ts';
import { inBase64 } from './forms.ts';
import { readKmsSettings } from './kms/configuration.ts';
import { registerKmsMetrics } from './kms/metrics.ts';
import type { KmsSettings } from './kms/plugin.ts';
import { KmsProvider } from './kms/provider.ts';
import { PROVIDER_KINDS, type ProviderKind } from './providers.ts';
import { type ConfiguredKey, createSealer, type EncryptionRule } from './sealer.ts';
import type { Encryption, KeyServices } from './setting.ts';

export interface EncryptionTools {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Reads an EncryptionConfiguration. Throws an OperatorError that names every mistake. */
export async function openEncryption(file: string, tools: EncryptionTools): Promise<Encryption> {
  const config = await parseSettingYaml(await readSettingFile(file), file);
  const { rules, kms, mistakes } = readEncryptionConfiguration(config, (settings) => new KmsProvider(settings, tools));
  if (mistakes.length > 0) {
    throw new OperatorError({
      code: 'ENCRYPTION',
      message: `The encryption configuration ${file} cannot be used: ${mistakes.join('; ')}.`,
      nextStep: 'Correct the file of --encryption-provider-config; docs/encryption.md has an example.',
      exitCode: 2,
    });
  }
  const sealer = createSealer(rules);
  return { around: (store) => createSealedStore(store, sealer), services: kms, keys: keyServicesOf(kms) };
}

export const keyServicesOf = (providers: readonly KmsProvider[]): KeyServices => ({
  checks: kmsChecks(providers),
  registerMetrics: (registry) => registerKmsMetrics(registry, providers),
});

/** The names of Kubernetes: one for each provider, and one for all. */
function kmsChecks(providers: readonly KmsProvider[]): KeyServices['checks'] {
  if (providers.length === 0) return [];
  const checkOf = (name: string, checked: readonly KmsProvider[]) => ({
    name,
    forLiveness: false,
    problems: () => checked.flatMap((each) => each.problems()),
  });
  return [checkOf('kms-providers', providers), ...providers.map((each, i) => checkOf(`kms-provider-${i}`, [each]))];
}

export interface ReadEncryption {
  readonly rules: readonly EncryptionRule[];
  /** The providers that ask a key management service. They are not started. */
  readonly kms: readonly KmsProvider[];
  /** Sentences, each with its field; none names a secret. */
  readonly mistakes: readonly string[];
}

const API_VERSION = 'apiserver.config.k8s.io/v1';

export function readEncryptionConfiguration(config: Json, createKms: CreateKms): ReadEncryption {
  const reader = new ConfigurationReader(createKms);
  return { rules: reader.read(config), kms: reader.kms, mistakes: reader.mistakes };
}

type CreateKms = (settings: KmsSettings) => KmsProvider;

/**
 * The relay reads the text of pods: it determines their node. The others decide about writes: a server that cannot read
 * them would admit what they refuse.
 */
const NEVER_SEALED: ReadonlySet<string> = new Set(['pods', 'namespaces', 'limitranges', 'resourcequotas']);
const NEVER_SEALED_GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'rbac.authorization.k8s.io',
]);

const isNeverSealed = (resource: string, group: string): boolean =>
  group === '' ? NEVER_SEALED.has(resource) : NEVER_SEALED_GROUPS.has(group);

class ConfigurationReader {
  readonly mistakes: string[] = [];
  readonly kms: KmsProvider[] = [];
  readonly #createKms: CreateKms;

  constructor(createKms: CreateKms) {
    this.#createKms = createKms;
  }

  read(config: Json): readonly EncryptionRule[] {
    if (!isJsonObject(config)) {
      this.mistakes.push('the file does not contain an object');
      return [];
    }
    if (config['apiVersion'] !== API_VERSION) this.mistakes.push(`apiVersion: must be ${API_VERSION}`);
    if (config['kind'] !== 'EncryptionConfiguration') this.mistakes.push('kind: must be EncryptionConfiguration');
    const entries = this.#list(config, 'resources', 'resources');
    if (entries.length === 0) this.mistakes.push('resources: must hold at least one entry');
    return entries.map((each, i) => this.#rule(each, `resources[${i}]`));
  }

  #rule(value: Json, at: string): EncryptionRule {
    const entry = this.#object(value, at);
    const names = this.#list(entry, 'resources', `${at}.resources`);
    if (names.length === 0) this.mistakes.push(`${at}.resources: must name at least one resource`);
    const providers = this.#list(entry, 'providers', `${at}.providers`);
    if (providers.length === 0) this.mistakes.push(`${at}.providers: must hold at least one provider`);
    return {
      resources: names.map((name, i) => this.#resource(name, `${at}.resources[${i}]`)),
      keys: providers.flatMap((each, i) => this.#provider(each, `${at}.providers[${i}]`)),
    };
  }

  #resource(name: Json, at: string): { readonly group: string; readonly resource: string } {
    const text = typeof name === 'string' ? name : '';
    const dot = text.indexOf('.');
    const [resource, group] = dot < 0 ? [text, ''] : [text.slice(0, dot), text.slice(dot + 1)];
    if (text.includes('*')) this.mistakes.push(`${at}: wildcards are not supported; name each resource`);
    else if (!/^[a-z0-9-]+$/.test(resource)) this.mistakes.push(`${at}: must be <plural> or <plural>.<group>`);
    else if (isNeverSealed(resource, group)) this.mistakes.push(`${at}: ${text} cannot be encrypted`);
    return { group, resource };
  }

  #provider(value: Json, at: string): readonly ConfiguredKey[] {
    const entry = this.#object(value, at);
    const [name, ...others] = Object.keys(entry);
    if (name === undefined || others.length > 0) {
      this.mistakes.push(`${at}: must hold exactly one provider`);
      return [];
    }
    if (name === 'identity') return [{ provider: 'identity' }];
    const kind = PROVIDER_KINDS.find((each) => each.name === name);
    if (kind !== undefined)
      return this.#keys(this.#object(entry[name] ?? null, `${at}.${name}`), kind, `${at}.${name}.keys`);
    if (name === 'kms') return this.#kms(this.#object(entry[name] ?? null, `${at}.kms`), `${at}.kms`);
    const known = ['identity', 'kms', ...PROVIDER_KINDS.map((each) => each.name)].join(', ');
    this.mistakes.push(`${at}.${name}: unknown provider; use one of ${known}`);
    return [];
  }

  #kms(config: JsonObject, at: string): readonly ConfiguredKey[] {
    const { settings, mistakes } = readKmsSettings(config);
    this.mistakes.push(...mistakes.map((each) => `${at}${each}`));
    if (settings === undefined) return [];
    if (this.kms.some(({ name }) => name === settings.name)) {
      this.mistakes.push(`${at}.name: there is another kms provider of this name`);
    }
    const form = this.#createKms(settings);
    this.kms.push(form);
    return [{ provider: 'kms:v2', form }];
  }

  #keys(config: JsonObject, kind: ProviderKind, at: string): readonly ConfiguredKey[] {
    const entries = this.#list(config, 'keys', at);
    if (entries.length === 0) this.mistakes.push(`${at}: must hold at least one key`);
    const names = new Set<string>();
    return entries.flatMap((each, i) => {
      const { name, secret } = this.#object(each, `${at}[${i}]`);
      if (typeof name !== 'string' || name === '' || name.includes(':')) {
        this.mistakes.push(`${at}[${i}].name: must be a text without ":"`);
        return [];
      }
      if (names.has(name)) this.mistakes.push(`${at}[${i}].name: there is another key of this name`);
      names.add(name);
      return this.#key({ name, secret, kind }, `${at}[${i}].secret`);
    });
  }

  #key(
    { name, secret, kind }: { name: string; secret: Json | undefined; kind: ProviderKind },
    at: string,
  ): readonly ConfiguredKey[] {
    if (typeof secret !== 'string' || !BASE64.test(secret.trim())) {
      this.mistakes.push(`${at}: must be base64`);
      return [];
    }
    const bytes = Buffer.from(secret, 'base64');
    if (kind.lengths.includes(bytes.length)) {
      return [{ provider: `${kind.name}:v1`, form: inBase64(kind.keyOf(name, bytes)) }];
    }
    const wanted = kind.lengths.join(' or ');
    this.mistakes.push(`${at}: has ${bytes.length} bytes, and ${kind.name} takes ${wanted}`);
    return [];
  }

  #list(of: JsonObject, field: string, at: string): readonly Json[] {
    const value = of[field as keyof typeof of];
    if (Array.isArray(value)) return value;
    if (value !== undefined && value !== null) this.mistakes.push(`${at}: must be a list`);
    return [];
  }

  #object(value: Json, at: string): JsonObject {
    if (isJsonObject(value)) return value;
    this.mistakes.push(`${at}: must be an object`);
    return {};
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
