import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

/** More files would save little: a group loads its modules once. Fewer let a crash or a failed load touch fewer others. */
const FILES_PER_GROUP = 12;
/** A file that measures its process, or changes settings of it, shares it with no other. */
const OWN_PROCESS = /\bprocess\.(?:memoryUsage|cpuUsage|resourceUsage|umask|chdir|on|env)\b|\bsetFlagsFromString\b/;

/** Returns groups of files that run in one process each: neighbours of one room, because they load the same modules. */
export function groupFiles(root: string, files: readonly string[]): readonly (readonly string[])[] {
  const rooms = new Map<string, string[]>();
  const alone: string[][] = [];
  for (const file of files) {
    if (OWN_PROCESS.test(readFileSync(path.join(root, file), 'utf8'))) alone.push([file]);
    else rooms.set(roomOf(file), [...(rooms.get(roomOf(file)) ?? []), file]);
  }
  return [...[...rooms.values()].flatMap(inGroups), ...alone];
}

/** `libs/api` of `libs/api/src/kinds/pod.test.ts`. */
const roomOf = (file: string): string => file.split('/').slice(0, 2).join('/');

/** As equal in size as possible. */
function inGroups(files: readonly string[]): readonly (readonly string[])[] {
  const size = Math.ceil(files.length / Math.ceil(files.length / FILES_PER_GROUP));
  const starts = Array.from({ length: Math.ceil(files.length / size) }, (_, group) => group * size);
  return starts.map((start) => files.slice(start, start + size));
}

export interface GroupSettings {
  readonly root: string;
  readonly timeoutMsPerFile: number;
}

/** The test runner starts one process for each file that it is given: here a module that loads the files of one group. */
export function writeGroups(
  folder: string,
  groups: readonly (readonly string[])[],
  settings: GroupSettings,
): readonly string[] {
  mkdirSync(folder, { recursive: true });
  const runner = pathToFileURL(path.join(import.meta.dirname, 'run-group.ts')).href;
  return groups.map((files, group) => {
    const entry = path.join(folder, `group-${group + 1}.mjs`);
    const call = `await runGroup(${JSON.stringify(files)}, ${JSON.stringify(settings)});`;
    writeFileSync(entry, `import { runGroup } from ${JSON.stringify(runner)};\n${call}\n`);
    return entry;
  });
}
