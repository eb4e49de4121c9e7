import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseImageName } from './image-name.ts';
import { credentialsFor } from './registry-credentials.ts';

const login = (user: string): object => ({ auth: Buffer.from(`${user}:secret:with:colons`).toString('base64') });

const secretOf = (auths: Readonly<Record<string, object>>): Readonly<Record<string, string>> => ({
  '.dockerconfigjson': JSON.stringify({ auths }),
});

function usersFor(image: string, ...secrets: readonly Readonly<Record<string, string>>[]): readonly string[] {
  const name = parseImageName(image) ?? assert.fail(image);
  return credentialsFor(name, secrets).map(({ username }) => username);
}

test('a credential is used for its registry only, and for the path that it names', () => {
  const secret = secretOf({
    'https://index.docker.io/v1/': login('hub'),
    'registry.example': login('all'),
    'registry.example/team': login('team'),
    '*.wild.example': login('wild'),
  });
  assert.deepEqual(usersFor('busybox', secret), ['hub']);
  assert.deepEqual(usersFor('registry.example/team/app:1', secret), ['team', 'all']);
  assert.deepEqual(usersFor('registry.example/teams/app:1', secret), ['all']);
  assert.deepEqual(usersFor('eu.wild.example/app', secret), ['wild']);
  assert.deepEqual(usersFor('a.b.wild.example/app', secret), []);
  assert.deepEqual(usersFor('other.example/app', secret), []);
});

test('credentials are read from both forms of secrets, and invalid ones are ignored', () => {
  const name = parseImageName('registry.example/app') ?? assert.fail();
  const old = { '.dockercfg': JSON.stringify({ 'registry.example': login('old') }) };
  const named = secretOf({ 'registry.example': { username: 'u', password: 'p' } });
  const token = secretOf({ 'registry.example': { identitytoken: 't' } });
  const broken = [{ '.dockerconfigjson': '{' }, {}, secretOf({ 'registry.example': {} })];
  assert.deepEqual(credentialsFor(name, [old, named, token, ...broken]), [
    { server: 'registry.example', username: 'old', password: 'secret:with:colons', identityToken: '' },
    { server: 'registry.example', username: 'u', password: 'p', identityToken: '' },
    { server: 'registry.example', username: '', password: '', identityToken: 't' },
  ]);
});
