import { writeBundle } from './bundle.ts';

/** Writes the files of the console into a folder, for an image. */
await writeBundle(process.argv[2] ?? 'built');
