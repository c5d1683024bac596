// Starts `gpurace lsp` for CUDA sources. All else is in the server.
"use strict";

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** @type {LanguageClient | undefined} */
let client;

/** Returns the settings that are set, as the server's initialization options. */
function options(settings) {
    const set = {};
    for (const name of ["report", "facts", "compileCommands", "fallbackFlags"]) {
        const value = settings.get(name);
        // No flags are a wish too: compile without any.
        const isUnset = value === null || value === undefined || (name !== "fallbackFlags" && value.length === 0);
        if (!isUnset) {
            set[name] = value;
        }
    }
    return set;
}

async function start() {
    const settings = workspace.getConfiguration("gpurace");
    const server = { command: settings.get("path"), args: ["lsp"] };
    client = new LanguageClient("gpurace", "gpurace", server, {
        documentSelector: [
            { scheme: "file", language: "cuda-cpp" },
            { scheme: "file", pattern: "**/*.{cu,cuh}" },
        ],
        initializationOptions: options(settings),
    });
    await client.start();
}

async function stop() {
    const old = client;
    client = undefined;
    await old?.stop();
}

async function activate(context) {
    context.subscriptions.push(
        workspace.onDidChangeConfiguration(async (change) => {
            if (change.affectsConfiguration("gpurace")) {
                await stop();
                await start();
            }
        }),
    );
    await start();
}

module.exports = { activate, deactivate: stop };
