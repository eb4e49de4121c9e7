export declare class Sources {
  constructor(root: string, target: string, moreEntries?: readonly string[]);
}

export declare function join(
  sources: Sources,
): Promise<{ readonly programs: Readonly<Record<string, string>>; readonly inputs: readonly string[] }>;
