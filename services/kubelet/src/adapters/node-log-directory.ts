import { closeSync, constants, createReadStream, opendirSync, openSync, type Stats } from 'node:fs';
import type { ApiResponse } from '@holdfast/client';
import { notFound, StatusError } from '@holdfast/machinery';
import { NODE_LOG_ENTRIES_MAX } from '../limits.ts';
import { BeneathError, descriptorPath, openBeneath, statOf } from '../runtime/beneath.ts';

/** Answers `/logs/...` of a node. Throws a Status where there is nothing. */
export type NodeLogs = (path: string) => ApiResponse;

/**
 * The files below one directory of the machine, as they are, and its directories as pages of links. Links in the tree are not
 * followed: pods may write in it, and what a link of theirs names is not theirs to show.
 */
export function createNodeLogDirectory(root: string): NodeLogs {
  return (path) => {
    const names = path.split('/').slice(2);
    const isDirectoryPath = names.at(-1) === '';
    const descriptor = open(
      root,
      names.filter((name) => name !== ''),
      path,
    );
    try {
      const stats = statOf(descriptor);
      if (stats.isFile()) return fileAnswer(descriptor, stats);
      if (!stats.isDirectory()) throw nothingAt(path);
      return isDirectoryPath ? listing(descriptor) : redirectTo(`${encodeURIComponent(names.at(-1) ?? 'logs')}/`);
    } finally {
      closeSync(descriptor);
    }
  };
}

function open(root: string, names: readonly string[], path: string): number {
  try {
    return openBeneath(root, names);
  } catch (error) {
    if (error instanceof BeneathError || hasCode(error, 'ENOENT', 'ENAMETOOLONG')) throw nothingAt(path);
    if (hasCode(error, 'EACCES')) throw forbiddenAt(path);
    throw error;
  }
}

/** Returns the current content of the file: a growing log ends here. */
function fileAnswer(place: number, { size }: Stats): ApiResponse {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' };
  if (size === 0) return { status: 200, headers, body: { kind: 'text', contentType: 'text/plain', text: '' } };
  const fd = openSync(descriptorPath(place), constants.O_RDONLY | constants.O_NONBLOCK);
  return { status: 200, headers, body: { kind: 'stream', chunks: createReadStream('', { fd, end: size - 1 }) } };
}

function listing(place: number): ApiResponse {
  const directory = opendirSync(descriptorPath(place));
  const names: string[] = [];
  try {
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
      if (names.length >= NODE_LOG_ENTRIES_MAX) break;
      if (entry.isFile() || entry.isDirectory()) names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
    }
  } finally {
    directory.closeSync();
  }
  const links = names
    .toSorted()
    .map((name) => `<a href="./${encodeURI(name).replace(/[?#]/g, encodeURIComponent)}">${escape(name)}</a>\n`);
  const contentType = 'text/html; charset=utf-8';
  const text = `<pre>\n${links.join('')}</pre>\n`;
  return { status: 200, headers: { 'content-type': contentType }, body: { kind: 'text', contentType, text } };
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

const redirectTo = (location: string): ApiResponse => ({ status: 301, headers: { location }, body: { kind: 'empty' } });

const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

const forbiddenAt = (path: string): StatusError =>
  new StatusError({ code: 403, reason: 'Forbidden', message: `the node may not read ${path}`, details: {} });

const nothingAt = (path: string): StatusError => notFound({ group: '', resource: 'paths of this node', name: path });
