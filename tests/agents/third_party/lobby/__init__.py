"""A package with an environment of its own: which of M tables should a new player join?

The level of each table is hidden, and each game shows it with noise. One call makes the environment
known to Gymnasium and to all commands of matchenv.
"""

import matchenv

matchenv.register_environment(
    matchenv.Environment(
        env_id="Lobby-v0",
        settings="lobby.env:LobbySettings",
        simulator="lobby.env:LobbySimulator",
        env="lobby.env:LobbyEnv",
        vector_env="lobby.env:LobbyVectorEnv",
        renderer="lobby.pictures:LobbyRenderer",
        protocol="lobby.policies:PROTOCOL",
        policies={
            "greedy": "lobby.policies:Greedy",
            "random": "lobby.policies:RandomTable",
            "best": "lobby.policies:BestTable",
        },
        reader="lobby.reader:TableReader",
        training="lobby.policies:TRAINING",
        hyperparameters="lobby:hyperparameters",
    )
)
